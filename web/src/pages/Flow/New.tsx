/** A flow that is not saved yet. */
import { Breadcrumbs, Button, Group, TextInput } from "@mantine/core";
import { getRouteApi, useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { useSaveFlow } from "../../api/flows";
import { notifyError } from "../../components/notify";
import { PageHeader } from "../../components/PageHeader";
import { TextLink } from "../../components/TextLink";
import { readGraph } from "../../lib/flow/graph";
import { setIn } from "../../lib/flow/patch";
import { addStep } from "../../lib/flow/steps";
import { Editor } from "./editor/Editor";
import { useFlowText } from "./editor/history";
import { useLeaveWarning } from "./editor/useLeaveWarning";

const route = getRouteApi("/in/projects/$project/flows-new");
const EMPTY = "schema: millpond.flow/1\nname: my-flow\nsteps: {}\n";
const NAME = /^[a-z0-9][a-z0-9-]{0,62}$/;

export function FlowNew() {
  const { project } = route.useParams();
  const { component } = route.useSearch();
  const navigate = useNavigate();
  const [initial] = useState(() => (component ? startWith(component) : EMPTY));
  const flow = useFlowText(initial);
  const { name, steps } = readGraph(flow.text);
  const save = useSaveFlow({ project, flow: name });
  const allowLeaving = useLeaveWarning(flow.text !== initial);
  const submit = () =>
    save.mutateAsync({ text: flow.text, version: 0 }).then(() => {
      allowLeaving();
      return navigate({ to: "/projects/$project/flows/$flow", params: { project, flow: name } });
    }, notifyError);
  return (
    <>
      <PageHeader
        title="New flow"
        above={
          <Breadcrumbs>
            <TextLink to="/flows" search={{ project }} size="sm">
              Flows
            </TextLink>
          </Breadcrumbs>
        }
        actions={
          <Group gap="xs" align="flex-start">
            <TextInput
              aria-label="Name of the flow"
              value={name}
              error={name === "" || NAME.test(name) ? null : "Use lower-case letters, digits and -."}
              onChange={(event) => {
                const typed = event.currentTarget.value;
                flow.edit("name", (text) => setIn(text, ["name"], typed));
              }}
            />
            <Button
              onClick={submit}
              loading={save.isPending}
              disabled={steps.length === 0 || !NAME.test(name)}
            >
              Save
            </Button>
          </Group>
        }
      />
      <Editor project={project} flow={flow} isEditable />
    </>
  );
}

/** A flow of one step: `split@1`. */
function startWith(component: string): string {
  const name = component.split("@")[0] ?? "step";
  const named = setIn(EMPTY, ["name"], `my-${name}`);
  return addStep(named, name, { component });
}

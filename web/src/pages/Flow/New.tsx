/** A flow that is not saved yet. */
import { Button, Group, TextInput } from "@mantine/core";
import { getRouteApi, useNavigate } from "@tanstack/react-router";
import { useSaveFlow } from "../../api/flows";
import { notifyError } from "../../components/notify";
import { PageHeader } from "../../components/PageHeader";
import { readGraph } from "../../lib/flow/graph";
import { setIn } from "../../lib/flow/patch";
import { Editor } from "./editor/Editor";
import { useFlowText } from "./editor/history";

const route = getRouteApi("/in/projects/$project/flows-new");
const EMPTY = "schema: millpond.flow/1\nname: my-flow\n\nsteps: {}\n";

export function FlowNew() {
  const { project } = route.useParams();
  const navigate = useNavigate();
  const flow = useFlowText(EMPTY);
  const graph = readGraph(flow.text);
  const save = useSaveFlow({ project, flow: graph.name });
  const submit = () =>
    save
      .mutateAsync({ text: flow.text, version: 0 })
      .then(
        () => navigate({ to: "/projects/$project/flows/$flow", params: { project, flow: graph.name } }),
        notifyError,
      );
  return (
    <>
      <PageHeader
        title="New flow"
        actions={
          <Group gap="xs" align="flex-end">
            <TextInput
              size="sm"
              aria-label="Name of the flow"
              value={graph.name}
              onChange={(event) => {
                const name = event.currentTarget.value;
                flow.edit("name", (text) => setIn(text, ["name"], name));
              }}
            />
            <Button
              onClick={submit}
              loading={save.isPending}
              disabled={graph.steps.length === 0 || !graph.name}
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

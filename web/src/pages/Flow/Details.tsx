/** One flow: the editor, its runs and its versions. */
import { Breadcrumbs, Button, Group, Paper, Table, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { getRouteApi, useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { flowQuery, flowRunsQuery, flowVersionsQuery, useDeleteFlow, useSaveFlow } from "../../api/flows";
import { isNotFound } from "../../api/problem";
import type { Flow } from "../../api/shapes";
import { ConfirmByName } from "../../components/ConfirmByName";
import { Loaded } from "../../components/Loaded";
import { NotFound } from "../../components/NotFound";
import { notifyDone, notifyError } from "../../components/notify";
import { PageHeader } from "../../components/PageHeader";
import { TabBar } from "../../components/TabBar";
import { TextLink } from "../../components/TextLink";
import { Time } from "../../components/Time";
import { Editor } from "./editor/Editor";
import { useFlowText } from "./editor/history";
import { RunTable } from "./parts/RunTable";
import { StartFlow } from "./parts/StartFlow";
import { FLOW_TABS } from "./tabs";

const route = getRouteApi("/in/projects/$project/flows/$flow");
const ROUTE = "/projects/$project/flows/$flow";
const NAMES = { edit: "Flow", runs: "Runs", versions: "Versions" };

export function FlowDetails() {
  const place = route.useParams();
  const { version } = route.useSearch();
  const result = useQuery(flowQuery(place, version));
  if (isNotFound(result.error)) return <NotFound message={result.error?.message} />;
  // A version that was saved elsewhere is another text: the editor begins with it.
  return (
    <Loaded result={result}>{(flow) => <Parts key={`${flow.version} ${flow.commit}`} flow={flow} />}</Loaded>
  );
}

function Parts({ flow }: { flow: Flow }) {
  const place = { project: flow.project, flow: flow.name };
  const { tab = "edit" } = route.useSearch();
  const navigate = useNavigate();
  const written = useFlowText(flow.text ?? "");
  const save = useSaveFlow(place);
  const isNewest = flow.version === flow.newest;
  const isChanged = written.text !== flow.text;
  const submit = () =>
    save.mutateAsync({ text: written.text, version: flow.newest }).then((saved) => {
      notifyDone(saved.is_new ? `Version ${saved.version} saved.` : "Saved: nothing but positions changed.");
      return navigate({ to: ROUTE, params: place, search: { tab } });
    }, notifyError);
  return (
    <>
      <PageHeader
        title={flow.name}
        above={
          <Breadcrumbs>
            <TextLink to="/flows" search={{ project: flow.project }} size="sm">
              Flows
            </TextLink>
          </Breadcrumbs>
        }
        below={
          <Text size="sm" c="dimmed">
            {flow.description && `${flow.description} · `}Version {flow.version}
            {isNewest ? "" : ` of ${flow.newest}`}, saved <Time at={flow.saved_at} /> by {flow.saved_by}
          </Text>
        }
        actions={
          <Group gap="xs">
            <Delete flow={flow} />
            <Button
              variant="default"
              onClick={submit}
              loading={save.isPending}
              disabled={!isChanged && isNewest}
            >
              {isNewest ? "Save" : "Save as newest"}
            </Button>
            <StartFlow flow={flow} isChanged={isChanged} />
          </Group>
        }
      />
      <TabBar
        label="Parts of the flow"
        tabs={FLOW_TABS}
        names={NAMES}
        value={tab}
        onChange={(chosen) =>
          void navigate({
            to: ROUTE,
            params: place,
            search: { tab: chosen, version: isNewest ? undefined : flow.version },
          })
        }
      >
        {tab === "edit" && <Editor project={flow.project} flow={written} isEditable />}
        {tab === "runs" && <Runs flow={flow} />}
        {tab === "versions" && <Versions flow={flow} />}
      </TabBar>
    </>
  );
}

function Runs({ flow }: { flow: Flow }) {
  const result = useQuery(flowRunsQuery({ project: flow.project, flow: flow.name }));
  return <Loaded result={result}>{({ items }) => <RunTable project={flow.project} runs={items} />}</Loaded>;
}

function Versions({ flow }: { flow: Flow }) {
  const result = useQuery(flowVersionsQuery({ project: flow.project, flow: flow.name }));
  return (
    <Loaded result={result}>
      {({ items }) => (
        <Paper withBorder>
          <Table aria-label="Versions">
            <Table.Tbody>
              {items.map((one) => (
                <Table.Tr key={one.version}>
                  <Table.Td>
                    <TextLink
                      to="/projects/$project/flows/$flow"
                      params={{ project: flow.project, flow: flow.name }}
                      search={{ version: one.version }}
                      size="sm"
                    >
                      Version {one.version}
                    </TextLink>
                  </Table.Td>
                  <Table.Td>{one.steps} steps</Table.Td>
                  <Table.Td>
                    <Time at={one.saved_at} /> by {one.saved_by}
                  </Table.Td>
                </Table.Tr>
              ))}
            </Table.Tbody>
          </Table>
        </Paper>
      )}
    </Loaded>
  );
}

function Delete({ flow }: { flow: Flow }) {
  const [opened, setOpened] = useState(false);
  const navigate = useNavigate();
  const remove = useDeleteFlow({ project: flow.project, flow: flow.name });
  return (
    <>
      <Button variant="subtle" color="red" onClick={() => setOpened(true)}>
        Delete
      </Button>
      <ConfirmByName
        opened={opened}
        onClose={() => setOpened(false)}
        title={`Delete ${flow.name}`}
        name={flow.name}
        explanation="The flow and its versions are removed. Its runs stay."
        action="Delete"
        onConfirm={() =>
          remove.mutate(undefined, {
            onSuccess: () => void navigate({ to: "/flows", search: { project: flow.project } }),
          })
        }
        busy={remove.isPending}
        error={remove.error}
      />
    </>
  );
}

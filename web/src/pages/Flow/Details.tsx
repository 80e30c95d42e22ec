/** One flow: the editor, its runs and its versions. */
import { ActionIcon, Breadcrumbs, Button, Group, Menu, Paper, Table, Text } from "@mantine/core";
import { IconDots } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";
import { getRouteApi, useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import {
  flowQuery,
  flowRunsQuery,
  flowVersionsQuery,
  refreshFlows,
  useDeleteFlow,
  useSaveFlow,
} from "../../api/flows";
import { ApiError, isNotFound } from "../../api/problem";
import type { Flow } from "../../api/shapes";
import { ConfirmByName } from "../../components/ConfirmByName";
import { Loaded } from "../../components/Loaded";
import { NotFound } from "../../components/NotFound";
import { notifyDone, notifyError } from "../../components/notify";
import { PageHeader } from "../../components/PageHeader";
import { TabBar } from "../../components/TabBar";
import { TextLink } from "../../components/TextLink";
import { Time } from "../../components/Time";
import { type Draft, useDraft } from "./editor/draft";
import { Editor } from "./editor/Editor";
import { useLeaveWarning } from "./editor/useLeaveWarning";
import { NewerVersion } from "./parts/NewerVersion";
import { RunTable } from "./parts/RunTable";
import { StartFlow } from "./parts/StartFlow";
import { Triggers } from "./parts/Triggers";
import { FLOW_TABS } from "./tabs";

const route = getRouteApi("/in/projects/$project/flows/$flow");
const ROUTE = "/projects/$project/flows/$flow";
const NAMES = { edit: "Flow", runs: "Runs", triggers: "Triggers", versions: "Versions" };

export function FlowDetails() {
  const place = route.useParams();
  const { version } = route.useSearch();
  const result = useQuery(flowQuery(place, version));
  if (isNotFound(result.error)) return <NotFound message={result.error?.message} />;
  return (
    <Loaded result={result}>
      {(flow) => <Parts key={`${flow.name} ${version ?? "newest"}`} flow={flow} />}
    </Loaded>
  );
}

function Parts({ flow }: { flow: Flow }) {
  const place = { project: flow.project, flow: flow.name };
  const { tab = "edit" } = route.useSearch();
  const navigate = useNavigate();
  const draft = useDraft(flow);
  const save = useSave(draft);
  useLeaveWarning(draft.isChanged);
  const { base } = draft;
  const isNewest = base.version === base.newest;
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
            {flow.description && `${flow.description} · `}Version {base.version}
            {isNewest ? "" : ` of ${base.newest}`}, saved <Time at={base.saved_at} /> by {base.saved_by}
            {draft.isChanged && (
              <Text span fw={600} c="var(--mantine-color-text)">
                {" "}
                · unsaved changes
              </Text>
            )}
          </Text>
        }
        actions={
          <Group gap="xs">
            <More flow={flow} />
            <Button
              variant="default"
              onClick={() => void save.submit(false)}
              loading={save.isPending}
              disabled={!draft.isChanged && isNewest}
            >
              {isNewest ? "Save" : "Save as newest"}
            </Button>
            <StartFlow flow={base} isChanged={draft.isChanged} onSave={() => save.submit(true)} />
          </Group>
        }
      />
      <NewerVersion draft={draft} />
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
        {tab === "edit" && <Editor project={flow.project} flow={draft} saved={flow.name} isEditable />}
        {tab === "runs" && <Runs flow={flow} />}
        {tab === "triggers" && <Triggers flow={flow} />}
        {tab === "versions" && <Versions flow={flow} />}
      </TabBar>
    </>
  );
}

/** Saves the draft on top of the version it was made from; resolves to what was saved, or null. */
function useSave(draft: Draft) {
  const { base, text } = draft;
  const place = { project: base.project, flow: base.name };
  const save = useSaveFlow(place);
  const navigate = useNavigate();
  const submit = async (isQuiet: boolean): Promise<Flow | null> => {
    try {
      const saved = await save.mutateAsync({ text, version: base.newest });
      draft.accept(saved, text);
      if (!isQuiet)
        notifyDone(
          saved.is_new ? `Version ${saved.version} saved.` : "Saved. No new version: it does the same.",
        );
      if (base.version !== base.newest) await navigate({ to: ROUTE, params: place, ignoreBlocker: true });
      return { ...saved, text };
    } catch (error) {
      // Somebody was faster: the newer version is loaded, and the notice above the editor says so.
      if (error instanceof ApiError && error.status === 409) await refreshFlows();
      else notifyError(error);
      return null;
    }
  };
  return { submit, isPending: save.isPending };
}

function Runs({ flow }: { flow: Flow }) {
  const result = useQuery(flowRunsQuery({ project: flow.project, flow: flow.name }));
  return (
    <Loaded result={result}>
      {({ items }) => <RunTable project={flow.project} flow={flow.name} runs={items} />}
    </Loaded>
  );
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

function More({ flow }: { flow: Flow }) {
  const [isDeleting, setIsDeleting] = useState(false);
  const navigate = useNavigate();
  const remove = useDeleteFlow({ project: flow.project, flow: flow.name });
  return (
    <>
      <Menu position="bottom-end">
        <Menu.Target>
          <ActionIcon variant="default" size={36} aria-label="More actions">
            <IconDots size={18} />
          </ActionIcon>
        </Menu.Target>
        <Menu.Dropdown>
          <Menu.Item
            component="a"
            href={`data:application/yaml;charset=utf-8,${encodeURIComponent(flow.text ?? "")}`}
            download="flow.yaml"
          >
            Download flow.yaml
          </Menu.Item>
          <Menu.Item color="red" onClick={() => setIsDeleting(true)}>
            Delete …
          </Menu.Item>
        </Menu.Dropdown>
      </Menu>
      <ConfirmByName
        opened={isDeleting}
        onClose={() => setIsDeleting(false)}
        title={`Delete ${flow.name}`}
        name={flow.name}
        explanation="The flow and its versions are removed. Its runs stay."
        action="Delete"
        onConfirm={() =>
          remove.mutate(undefined, {
            onSuccess: () =>
              void navigate({ to: "/flows", search: { project: flow.project }, ignoreBlocker: true }),
          })
        }
        busy={remove.isPending}
        error={remove.error}
      />
    </>
  );
}

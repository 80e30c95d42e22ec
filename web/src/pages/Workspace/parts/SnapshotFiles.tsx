import { Breadcrumbs, Group, Paper, Stack, Table, Text } from "@mantine/core";
import { IconFile, IconFolder } from "@tabler/icons-react";
import { useInfiniteQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { itemsOf } from "../../../api/paging";
import type { TreeEntry, Workspace } from "../../../api/shapes";
import { snapshotEntriesQuery } from "../../../api/workspaces";
import { ErrorNotice } from "../../../components/ErrorNotice";
import { Loaded } from "../../../components/Loaded";
import { ShowMore } from "../../../components/ShowMore";
import { TextLink } from "../../../components/TextLink";
import { WaitingRows } from "../../../components/Waiting";
import { visibleName } from "../../../lib/names";
import { formatBytes } from "../../../lib/quantity";
import { SnapshotSelect, useKeptSnapshots } from "./SnapshotSelect";

const route = getRouteApi("/in/projects/$project/workspaces/$workspace");

/** What a kept snapshot holds, a directory at a time. */
export function SnapshotFiles({ workspace }: { workspace: Workspace }) {
  const { snapshot, path = "" } = route.useSearch();
  const navigate = route.useNavigate();
  const { result, kept } = useKeptSnapshots(workspace);
  const chosen = snapshot ?? kept[0]?.name;
  return (
    <Loaded result={result}>
      {() =>
        chosen === undefined ? (
          <Text>No snapshot is in the lake yet. Files can be browsed once one is kept.</Text>
        ) : (
          <Stack>
            <Group>
              <SnapshotSelect
                label="Snapshot"
                names={kept.map((one) => one.name)}
                value={chosen}
                onChange={(name) => void navigate({ search: { tab: "files", snapshot: name } })}
              />
            </Group>
            <Way workspace={workspace} snapshot={chosen} path={path} />
            <Entries workspace={workspace} snapshot={chosen} path={path} />
          </Stack>
        )
      }
    </Loaded>
  );
}

interface Props {
  workspace: Workspace;
  snapshot: string;
  path: string;
}

function Way({ workspace, snapshot, path }: Props) {
  const parts = path ? path.split("/") : [];
  return (
    <Breadcrumbs component="nav" aria-label="Directory" separatorMargin={6}>
      {[workspace.name, ...parts].map((part, index) => {
        const here = parts.slice(0, index).join("/");
        return index === parts.length ? (
          <Text key={here} fw={600} aria-current="location">
            {visibleName(part)}
          </Text>
        ) : (
          <TextLink
            key={here}
            to="/projects/$project/workspaces/$workspace"
            params={{ project: workspace.project, workspace: workspace.name }}
            search={{ tab: "files", snapshot, path: here || undefined }}
          >
            {visibleName(part)}
          </TextLink>
        );
      })}
    </Breadcrumbs>
  );
}

function Entries({ workspace, snapshot, path }: Props) {
  const place = { project: workspace.project, workspace: workspace.name };
  const result = useInfiniteQuery(snapshotEntriesQuery(place, snapshot, path));
  if (result.isPending) return <WaitingRows />;
  if (result.isError) return <ErrorNotice error={result.error} retry={result.refetch} />;
  const entries = itemsOf(result.data);
  if (entries.length === 0) return <Text>This directory is empty.</Text>;
  return (
    <Paper withBorder>
      <Table aria-label={`Files in ${path || workspace.name}`} verticalSpacing={6}>
        <Table.Thead>
          <Table.Tr>
            <Table.Th>Name</Table.Th>
            <Table.Th ta="right">Files</Table.Th>
            <Table.Th ta="right">Size</Table.Th>
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {entries.map((entry) => (
            <Entry key={entry.path} {...{ entry, workspace, snapshot, path }} />
          ))}
        </Table.Tbody>
      </Table>
      <ShowMore result={result} />
    </Paper>
  );
}

function Entry({ entry, workspace, snapshot }: Props & { entry: TreeEntry }) {
  const { name } = entry;
  const isDirectory = entry.kind === "directory";
  return (
    <Table.Tr>
      <Table.Td>
        <Group gap="xs" wrap="nowrap">
          {isDirectory ? <IconFolder size={16} aria-hidden /> : <IconFile size={16} aria-hidden />}
          {isDirectory ? (
            <TextLink
              to="/projects/$project/workspaces/$workspace"
              params={{ project: workspace.project, workspace: workspace.name }}
              search={{ tab: "files", snapshot, path: entry.path }}
            >
              {visibleName(name)}
            </TextLink>
          ) : (
            visibleName(name)
          )}
        </Group>
      </Table.Td>
      <Table.Td ta="right">{isDirectory ? entry.files.toLocaleString("en") : ""}</Table.Td>
      <Table.Td ta="right">{formatBytes(entry.size)}</Table.Td>
    </Table.Tr>
  );
}

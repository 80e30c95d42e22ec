import { Badge, Group, Paper, Stack, Table, Text } from "@mantine/core";
import { useInfiniteQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import type { Change, Workspace } from "../../../api/shapes";
import { snapshotDiffQuery } from "../../../api/workspaces";
import { CommandLine } from "../../../components/Copyable";
import { ErrorNotice } from "../../../components/ErrorNotice";
import { Loaded } from "../../../components/Loaded";
import { ShowMore } from "../../../components/ShowMore";
import { WaitingRows } from "../../../components/Waiting";
import { shellQuote, visibleName } from "../../../lib/names";
import { formatBytes } from "../../../lib/quantity";
import { SnapshotSelect, useKeptSnapshots } from "./SnapshotSelect";

const route = getRouteApi("/in/projects/$project/workspaces/$workspace");

/** What differs between two kept snapshots; without a choice, between the newest two. */
export function SnapshotDiff({ workspace }: { workspace: Workspace }) {
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const { result, kept } = useKeptSnapshots(workspace);
  const names = kept.map((one) => one.name);
  const before = search.before ?? names[1];
  const after = search.after ?? names[0];
  const choose = (part: { before?: string; after?: string }) =>
    void navigate({ search: { tab: "diff", before, after, ...part } });
  return (
    <Loaded result={result}>
      {() =>
        before === undefined || after === undefined ? (
          <Text>Two snapshots must be in the lake before they can be compared.</Text>
        ) : (
          <Stack>
            <Group>
              <SnapshotSelect
                label="Before"
                names={names}
                value={before}
                onChange={(name) => choose({ before: name })}
              />
              <SnapshotSelect
                label="After"
                names={names}
                value={after}
                onChange={(name) => choose({ after: name })}
              />
            </Group>
            <CommandLine
              command={`mill workspace diff ${shellQuote(`${workspace.name}@${before}`)} ${shellQuote(after)}`}
            />
            <Differences workspace={workspace} before={before} after={after} />
          </Stack>
        )
      }
    </Loaded>
  );
}

function Differences({ workspace, before, after }: { workspace: Workspace; before: string; after: string }) {
  const place = { project: workspace.project, workspace: workspace.name };
  const result = useInfiniteQuery(snapshotDiffQuery(place, before, after));
  const [first] = result.data?.pages ?? [];
  if (result.isPending) return <WaitingRows />;
  if (!first) return <ErrorNotice error={result.error} retry={result.refetch} />;
  const items: Change[] = result.data?.pages.flatMap((page) => page.items) ?? [];
  if (items.length === 0) return <Text>No differences.</Text>;
  return (
    <Paper withBorder>
      <Table aria-label="Changed files" verticalSpacing={6}>
        <Table.Thead>
          <Table.Tr>
            <Table.Th>File</Table.Th>
            <Table.Th>Change</Table.Th>
            <Table.Th ta="right">Before</Table.Th>
            <Table.Th ta="right">After</Table.Th>
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {items.map((change) => (
            <Table.Tr key={change.path}>
              <Table.Td>{visibleName(change.path)}</Table.Td>
              <Table.Td>
                <Badge variant="light" tt="none" size="sm">
                  {change.change}
                </Badge>
              </Table.Td>
              <Table.Td ta="right">{bytesOf(change.size_before)}</Table.Td>
              <Table.Td ta="right">{bytesOf(change.size_after)}</Table.Td>
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
      <ShowMore result={result} />
    </Paper>
  );
}

function bytesOf(count: number | null | undefined): string {
  return count === null || count === undefined ? "–" : formatBytes(count);
}

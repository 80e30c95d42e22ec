import { Group, Paper, Table, Text } from "@mantine/core";
import {
  type Icon,
  IconFileArrowRight,
  IconFileMinus,
  IconFilePencil,
  IconFilePlus,
} from "@tabler/icons-react";
import type { DatasetPlace } from "../../../api/datasets";
import type { Change, Diff } from "../../../api/shapes";
import { TextLink } from "../../../components/TextLink";
import { formatBytes } from "../../../lib/quantity";

const PICTURES: Record<Change["change"], Icon> = {
  added: IconFilePlus,
  removed: IconFileMinus,
  changed: IconFilePencil,
  renamed: IconFileArrowRight,
};

export function Changes({ diff, place }: { diff: Diff; place: DatasetPlace }) {
  const sums = [
    `${diff.added.toLocaleString("en")} added (${formatBytes(diff.added_bytes)})`,
    `${diff.removed.toLocaleString("en")} removed (${formatBytes(diff.removed_bytes)})`,
    `${diff.changed.toLocaleString("en")} changed`,
    `${diff.renamed.toLocaleString("en")} renamed`,
  ];
  return (
    <>
      <Text data-testid="diff-sums">{sums.join(" · ")}</Text>
      {diff.items.length > 0 && (
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
              {diff.items.map((change) => (
                <ChangeRow key={change.path} change={change} diff={diff} place={place} />
              ))}
            </Table.Tbody>
          </Table>
        </Paper>
      )}
      {diff.next && <Text c="dimmed">The first {diff.items.length} changed files are listed.</Text>}
    </>
  );
}

function ChangeRow({ change, diff, place }: { change: Change; diff: Diff; place: DatasetPlace }) {
  const Picture = PICTURES[change.change];
  const ref = change.change === "removed" ? diff.before : diff.after;
  const path = change.path.split("/").slice(0, -1).join("/") || undefined;
  const size = (bytes: number | null) => (bytes === null ? "–" : formatBytes(bytes));
  return (
    <Table.Tr>
      <Table.Td>
        <TextLink
          to="/projects/$project/datasets/$dataset"
          params={place}
          search={{ tab: "files", ref, path, file: change.path }}
          size="sm"
        >
          {change.path}
        </TextLink>
      </Table.Td>
      <Table.Td>
        <Group gap={6} wrap="nowrap">
          <Picture size={16} aria-hidden /> {change.change}
        </Group>
      </Table.Td>
      <Table.Td ta="right">{size(change.size_before)}</Table.Td>
      <Table.Td ta="right">{size(change.size_after)}</Table.Td>
    </Table.Tr>
  );
}

import { ActionIcon, Group, Paper, Table, Text, VisuallyHidden } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import {
  type Icon,
  IconChevronDown,
  IconChevronRight,
  IconFileArrowRight,
  IconFileMinus,
  IconFilePencil,
  IconFilePlus,
} from "@tabler/icons-react";
import type { DatasetPlace } from "../../../api/datasets";
import type { Change } from "../../../api/shapes";
import { TextLink } from "../../../components/TextLink";
import { visibleName } from "../../../lib/names";
import { formatBytes } from "../../../lib/quantity";
import { FileComparison } from "./FileComparison";

const PICTURES: Record<Change["change"], Icon> = {
  added: IconFilePlus,
  removed: IconFileMinus,
  changed: IconFilePencil,
  renamed: IconFileArrowRight,
};

interface Sides {
  /** Ids of the two commits. */
  before: string;
  after: string;
  place: DatasetPlace;
}

/** Paths that differ; a changed file can be opened to see both of its sides. */
export function Changes({ items, ...sides }: Sides & { items: Change[] }) {
  return (
    <Paper withBorder>
      <Table.ScrollContainer
        minWidth={520}
        scrollAreaProps={{ viewportProps: { tabIndex: 0, "aria-label": "Changed files" } }}
      >
        <Table aria-label="Changed files" verticalSpacing={6}>
          <Table.Thead>
            <Table.Tr>
              <Table.Th w={40}>
                <VisuallyHidden>Open</VisuallyHidden>
              </Table.Th>
              <Table.Th>File</Table.Th>
              <Table.Th>Change</Table.Th>
              <Table.Th ta="right">Before</Table.Th>
              <Table.Th ta="right">After</Table.Th>
            </Table.Tr>
          </Table.Thead>
          <Table.Tbody>
            {items.map((change) => (
              <ChangeRow key={change.path} change={change} {...sides} />
            ))}
          </Table.Tbody>
        </Table>
      </Table.ScrollContainer>
    </Paper>
  );
}

function ChangeRow({ change, ...sides }: Sides & { change: Change }) {
  const [opened, row] = useDisclosure(false);
  const Picture = PICTURES[change.change];
  const size = (bytes: number | null) => (bytes === null ? "–" : formatBytes(bytes));
  return (
    <>
      <Table.Tr>
        <Table.Td>
          {change.change === "changed" && <OpenButton {...{ change, opened }} onClick={row.toggle} />}
        </Table.Td>
        <Table.Td>
          <FileLink change={change} {...sides} />
        </Table.Td>
        <Table.Td>
          <Group gap={6} wrap="nowrap">
            <Picture size={16} aria-hidden /> {change.change}
          </Group>
        </Table.Td>
        <Table.Td ta="right">{size(change.size_before)}</Table.Td>
        <Table.Td ta="right">{size(change.size_after)}</Table.Td>
      </Table.Tr>
      {opened && (
        <Table.Tr>
          <Table.Td colSpan={5}>
            <FileComparison change={change} {...sides} />
          </Table.Td>
        </Table.Tr>
      )}
    </>
  );
}

function OpenButton({ change, opened, onClick }: { change: Change; opened: boolean; onClick: () => void }) {
  return (
    <ActionIcon
      variant="subtle"
      color="gray"
      size="sm"
      aria-expanded={opened}
      aria-label={`What changed in ${change.path}`}
      onClick={onClick}
    >
      {opened ? <IconChevronDown size={16} /> : <IconChevronRight size={16} />}
    </ActionIcon>
  );
}

function FileLink({ change, before, after, place }: Sides & { change: Change }) {
  const path = change.path.split("/").slice(0, -1).join("/") || undefined;
  const ref = change.change === "removed" ? before : after;
  return (
    <>
      <TextLink
        to="/projects/$project/datasets/$dataset"
        params={place}
        search={{ tab: "files", ref, path, file: change.path }}
        size="sm"
        style={{ overflowWrap: "anywhere" }}
      >
        {visibleName(change.path)}
      </TextLink>
      {change.path_before && (
        <Text size="xs" c="dimmed" style={{ overflowWrap: "anywhere" }}>
          was {change.path_before}
        </Text>
      )}
    </>
  );
}

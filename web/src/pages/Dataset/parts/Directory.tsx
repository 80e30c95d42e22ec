import { Group, Paper, Table, Text } from "@mantine/core";
import { type Icon, IconFile, IconFileCode, IconFolder, IconLink, IconPhoto } from "@tabler/icons-react";
import { useInfiniteQuery } from "@tanstack/react-query";
import { entriesQuery, type FilePlace } from "../../../api/commits";
import type { TreeEntry } from "../../../api/shapes";
import { Paged } from "../../../components/Paged";
import { TextLink } from "../../../components/TextLink";
import { formatBytes, plural } from "../../../lib/quantity";
import { isImage } from "./kinds";
import { OutsideBadge } from "./Outside";
import { RemovePath } from "./RemovePath";

interface Props {
  place: FilePlace;
  selected: string | undefined;
  /** The branch that changes go to; null where what is shown cannot be changed. */
  branch: string | null;
}

/** The names in one directory of one commit. */
export function Directory({ place, selected, branch }: Props) {
  const result = useInfiniteQuery(entriesQuery(place));
  return (
    <Paper withBorder>
      <Paged result={result} empty={<Text p="md">This directory is empty.</Text>}>
        {(entries) => (
          <Table aria-label={`Files in ${place.path || place.dataset}`} verticalSpacing={6}>
            <Table.Thead>
              <Table.Tr>
                <Table.Th>Name</Table.Th>
                <Table.Th ta="right">Files</Table.Th>
                <Table.Th ta="right">Size</Table.Th>
                {branch && <Table.Th w={40} aria-label="Actions" />}
              </Table.Tr>
            </Table.Thead>
            <Table.Tbody>
              {entries.map((entry) => (
                <EntryRow key={entry.path} {...{ entry, place, branch }} selected={entry.path === selected} />
              ))}
            </Table.Tbody>
          </Table>
        )}
      </Paged>
    </Paper>
  );
}

interface RowProps {
  entry: TreeEntry;
  place: FilePlace;
  branch: string | null;
  selected: boolean;
}

function EntryRow({ entry, place, branch, selected }: RowProps) {
  const Picture = pictureOf(entry);
  const inside = entry.kind === "directory";
  const search = inside
    ? { tab: "files" as const, ref: place.ref, path: entry.path }
    : { tab: "files" as const, ref: place.ref, path: place.path || undefined, file: entry.path };
  return (
    <Table.Tr bg={selected ? "var(--mantine-primary-color-light)" : undefined}>
      <Table.Td>
        <Group gap="xs" wrap="nowrap">
          <Picture size={17} aria-label={entry.kind} style={{ flexShrink: 0 }} />
          <TextLink
            to="/projects/$project/datasets/$dataset"
            params={{ project: place.project, dataset: place.dataset }}
            search={search}
            resetScroll={false}
            aria-current={selected ? "true" : undefined}
            size="sm"
            style={{ overflowWrap: "anywhere" }}
          >
            {entry.name}
          </TextLink>
          {entry.external && <OutsideBadge />}
        </Group>
      </Table.Td>
      <Table.Td ta="right">{inside ? plural(entry.files, "file") : ""}</Table.Td>
      <Table.Td ta="right" style={{ whiteSpace: "nowrap" }}>
        {formatBytes(entry.size)}
      </Table.Td>
      {branch && (
        <Table.Td>
          <RemovePath
            entry={entry}
            place={{ project: place.project, dataset: place.dataset }}
            branch={branch}
          />
        </Table.Td>
      )}
    </Table.Tr>
  );
}

function pictureOf(entry: TreeEntry): Icon {
  if (entry.kind === "directory") return IconFolder;
  if (entry.kind === "symlink") return IconLink;
  if (entry.kind === "executable") return IconFileCode;
  return isImage(entry.name) ? IconPhoto : IconFile;
}

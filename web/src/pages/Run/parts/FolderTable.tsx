import { Anchor, Breadcrumbs, Group, Paper, Table, Text } from "@mantine/core";
import { IconFile, IconFolder } from "@tabler/icons-react";
import { useInfiniteQuery } from "@tanstack/react-query";
import { entriesQuery, type FilePlace } from "../../../api/commits";
import type { TreeEntry } from "../../../api/shapes";
import { Paged } from "../../../components/Paged";
import { visibleName } from "../../../lib/names";
import { formatBytes, plural } from "../../../lib/quantity";

interface Props {
  /** What the top of the tree is called. */
  title: string;
  /** The folder that is shown; its path is empty for the top. */
  place: FilePlace;
  selected: string | undefined;
  onFolder: (path: string) => void;
  onFile: (path: string) => void;
}

/** One folder of what a run kept or ran. */
export function FolderTable({ title, place, selected, onFolder, onFile }: Props) {
  const result = useInfiniteQuery(entriesQuery(place, undefined));
  return (
    <Paper withBorder>
      {place.path && <Way title={title} path={place.path} onFolder={onFolder} />}
      <Paged result={result} empty={<Text p="md">This folder is empty.</Text>}>
        {(entries) => (
          <Table aria-label={place.path ? `${title} in ${place.path}` : title} verticalSpacing={6}>
            <Table.Tbody>
              {foldersFirst(entries).map((entry) => (
                <Row key={entry.path} entry={entry} selected={selected} onFolder={onFolder} onFile={onFile} />
              ))}
            </Table.Tbody>
          </Table>
        )}
      </Paged>
    </Paper>
  );
}

function foldersFirst(entries: TreeEntry[]): TreeEntry[] {
  const isFolder = (entry: TreeEntry) => entry.kind === "directory";
  return [...entries.filter(isFolder), ...entries.filter((entry) => !isFolder(entry))];
}

function Row({ entry, selected, onFolder, onFile }: Omit<Props, "place" | "title"> & { entry: TreeEntry }) {
  const isFolder = entry.kind === "directory";
  const Picture = isFolder ? IconFolder : IconFile;
  const isSelected = entry.path === selected;
  return (
    <Table.Tr bg={isSelected ? "var(--mantine-primary-color-light)" : undefined}>
      <Table.Td>
        <Group gap="xs" wrap="nowrap">
          <Picture size={17} aria-label={isFolder ? "folder" : "file"} style={{ flexShrink: 0 }} />
          <Anchor
            component="button"
            type="button"
            size="sm"
            aria-current={isSelected ? "true" : undefined}
            onClick={() => (isFolder ? onFolder(entry.path) : onFile(entry.path))}
            style={{ overflowWrap: "anywhere", textAlign: "left" }}
          >
            {visibleName(entry.name)}
          </Anchor>
        </Group>
      </Table.Td>
      <Table.Td ta="right" className="unbroken">
        {isFolder ? plural(entry.files, "file") : ""}
      </Table.Td>
      <Table.Td ta="right" className="unbroken">
        {formatBytes(entry.size)}
      </Table.Td>
    </Table.Tr>
  );
}

function Way({ title, path, onFolder }: Pick<Props, "title" | "onFolder"> & { path: string }) {
  const parts = path.split("/");
  return (
    <Breadcrumbs p="xs" fz="sm">
      <Anchor component="button" type="button" size="sm" onClick={() => onFolder("")}>
        {title}
      </Anchor>
      {parts.map((part, index) => {
        const folder = parts.slice(0, index + 1).join("/");
        return (
          <Anchor key={folder} component="button" type="button" size="sm" onClick={() => onFolder(folder)}>
            {visibleName(part)}
          </Anchor>
        );
      })}
    </Breadcrumbs>
  );
}

import { Group, Table, VisuallyHidden } from "@mantine/core";
import { type Icon, IconFile, IconFileCode, IconFolder, IconLink, IconPhoto } from "@tabler/icons-react";
import { useWindowVirtualizer } from "@tanstack/react-virtual";
import { useEffect, useLayoutEffect, useRef, useState } from "react";
import type { FilePlace } from "../../../api/commits";
import type { TreeEntry } from "../../../api/shapes";
import { TextLink } from "../../../components/TextLink";
import { visibleName } from "../../../lib/names";
import { formatBytes, plural } from "../../../lib/quantity";
import { isImage } from "./kinds";
import { OutsideBadge } from "./Outside";
import { RemovePath } from "./RemovePath";

const ROW_PIXELS = 37;
/** So near to the last row, more are asked for. */
const EDGE_ROWS = 100;

interface Props {
  entries: TreeEntry[];
  place: FilePlace;
  branch: string | null;
  selected: string | undefined;
  /** These are all names of the directory. */
  isWhole: boolean;
  onEnd: () => void;
}

/** However many names there are, only rows in sight and a few around them are drawn; the rest is room. */
export function EntryTable({ entries, place, branch, selected, isWhole, onEnd }: Props) {
  const body = useRef<HTMLTableSectionElement>(null);
  const [top, setTop] = useState(0);
  // What is above the rows comes and goes: the same number again draws nothing.
  useLayoutEffect(() =>
    setTop(Math.round((body.current?.getBoundingClientRect().top ?? 0) + window.scrollY)),
  );
  const virtual = useWindowVirtualizer({
    count: entries.length,
    estimateSize: () => ROW_PIXELS,
    overscan: 30,
    scrollMargin: top,
  });
  const rows = virtual.getVirtualItems();
  const [first, last] = [rows[0], rows.at(-1)];
  const isNearEnd = last !== undefined && last.index >= entries.length - EDGE_ROWS;
  // biome-ignore lint/correctness/useExhaustiveDependencies: asked for once each time the end comes near
  useEffect(() => {
    if (isNearEnd && entries.length > EDGE_ROWS) onEnd();
  }, [isNearEnd, entries.length]);
  return (
    <Table
      aria-label={`Files in ${place.path || place.dataset}`}
      aria-rowcount={isWhole ? entries.length + 1 : -1}
      verticalSpacing={6}
    >
      <Table.Thead>
        <Table.Tr aria-rowindex={1}>
          <Table.Th>Name</Table.Th>
          <Table.Th ta="right">Files</Table.Th>
          <Table.Th ta="right">Size</Table.Th>
          {branch && (
            <Table.Th w={40}>
              <VisuallyHidden>Actions</VisuallyHidden>
            </Table.Th>
          )}
        </Table.Tr>
      </Table.Thead>
      <Table.Tbody ref={body}>
        <Room pixels={first ? first.start - top : 0} />
        {rows.map(({ index }) => {
          const entry = entries[index];
          return (
            entry && (
              <EntryRow
                key={entry.path}
                {...{ entry, place, branch, index }}
                measure={virtual.measureElement}
                selected={entry.path === selected}
              />
            )
          );
        })}
        <Room pixels={last ? virtual.getTotalSize() - (last.end - top) : 0} />
      </Table.Tbody>
    </Table>
  );
}

/** The height of rows that are not drawn. */
function Room({ pixels }: { pixels: number }) {
  if (pixels <= 0) return null;
  return (
    <tr aria-hidden style={{ border: 0 }}>
      <td style={{ height: pixels, padding: 0 }} />
    </tr>
  );
}

interface RowProps extends Pick<Props, "place" | "branch"> {
  entry: TreeEntry;
  index: number;
  selected: boolean;
  measure: (row: HTMLTableRowElement | null) => void;
}

function EntryRow({ entry, index, place, branch, selected, measure }: RowProps) {
  const Picture = pictureOf(entry);
  const inside = entry.kind === "directory";
  const search = inside
    ? { tab: "files" as const, ref: place.ref, path: entry.path }
    : { tab: "files" as const, ref: place.ref, path: place.path || undefined, file: entry.path };
  return (
    <Table.Tr
      ref={measure}
      data-index={index}
      aria-rowindex={index + 2}
      bg={selected ? "var(--mantine-primary-color-light)" : undefined}
    >
      <Table.Td>
        <Group gap="xs" wrap="nowrap">
          <Picture size={17} aria-label={entry.kind} style={{ flexShrink: 0 }} />
          <TextLink
            to="/projects/$project/datasets/$dataset"
            params={{ project: place.project, dataset: place.dataset }}
            search={(before) => ({ ...search, from: inside ? undefined : before.from })}
            resetScroll={false}
            aria-current={selected ? "true" : undefined}
            size="sm"
            style={{ overflowWrap: "anywhere" }}
          >
            {visibleName(entry.name)}
          </TextLink>
          {entry.external && <OutsideBadge />}
        </Group>
      </Table.Td>
      <Table.Td ta="right" style={{ whiteSpace: "nowrap" }}>
        {inside ? plural(entry.files, "file") : ""}
      </Table.Td>
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

import { Group, Stack, Text } from "@mantine/core";
import { useInfiniteQuery } from "@tanstack/react-query";
import { diffQuery } from "../../../api/commits";
import type { DatasetPlace } from "../../../api/datasets";
import type { Diff } from "../../../api/shapes";
import { ErrorNotice } from "../../../components/ErrorNotice";
import { ShowMore } from "../../../components/ShowMore";
import { WaitingRows } from "../../../components/Waiting";
import { formatBytes } from "../../../lib/quantity";
import { Changes } from "./Changes";

interface Props {
  place: DatasetPlace;
  before: string;
  after: string;
}

/** What differs between two refs: counts of all of it, and the paths, a part at a time. */
export function Difference({ place, before, after }: Props) {
  const result = useInfiniteQuery(diffQuery(place, before, after));
  const [first] = result.data?.pages ?? [];
  if (result.isPending) return <WaitingRows />;
  if (!first) return <ErrorNotice error={result.error} retry={result.refetch} />;
  const items = result.data?.pages.flatMap((page) => page.items) ?? [];
  return (
    <Stack>
      <Sums diff={first} />
      {items.length > 0 && <Changes items={items} before={first.before} after={first.after} place={place} />}
      <ShowMore result={result} />
    </Stack>
  );
}

function Sums({ diff }: { diff: Diff }) {
  const count = (number: number) => number.toLocaleString("en");
  const parts = [
    `${count(diff.added)} added`,
    `${count(diff.removed)} removed`,
    `${count(diff.changed)} changed`,
    `${count(diff.renamed)} renamed`,
    // Both sides of changed files count, too.
    `+${formatBytes(diff.added_bytes)}`,
    `−${formatBytes(diff.removed_bytes)}`,
  ];
  const isSame = diff.added + diff.removed + diff.changed + diff.renamed === 0;
  return (
    <Group gap="xs">
      <Text data-testid="diff-sums">{isSame ? "No differences." : parts.join(" · ")}</Text>
      {!diff.renames_complete && (
        <Text c="dimmed" size="sm">
          Too many changes to detect all renames.
        </Text>
      )}
    </Group>
  );
}

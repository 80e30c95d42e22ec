import { SimpleGrid, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { structuredPatch } from "diff";
import { useMemo } from "react";
import { fileAddress } from "../../../api/commits";
import type { DatasetPlace } from "../../../api/datasets";
import { fileTextQuery, PREVIEW_BYTES } from "../../../api/files";
import type { Change } from "../../../api/shapes";
import { ErrorNotice } from "../../../components/ErrorNotice";
import { WaitingRows } from "../../../components/Waiting";
import { formatBytes } from "../../../lib/quantity";
import { isImage } from "./kinds";

interface Props {
  change: Change;
  before: string;
  after: string;
  place: DatasetPlace;
}

/** Lines beyond which finding the difference would hold the page up. */
const LINES_MOST = 20_000;

/** Both sides of a changed file: images beside each other, of texts the lines that differ. */
export function FileComparison({ change, before, after, place }: Props) {
  const old = { ...place, ref: before, path: change.path };
  const now = { ...place, ref: after, path: change.path };
  if (isImage(change.path)) {
    return (
      <SimpleGrid cols={{ base: 1, sm: 2 }} p="xs">
        <Side title="Before" address={fileAddress(old)} name={change.path} />
        <Side title="After" address={fileAddress(now)} name={change.path} />
      </SimpleGrid>
    );
  }
  const isLarge = Math.max(change.size_before ?? 0, change.size_after ?? 0) > PREVIEW_BYTES;
  if (isLarge) {
    return <Text size="sm">Files of more than {formatBytes(PREVIEW_BYTES)} are not compared here.</Text>;
  }
  return <Texts old={old} now={now} />;
}

function Side({ title, address, name }: { title: string; address: string; name: string }) {
  return (
    <figure style={{ margin: 0 }}>
      <Text component="figcaption" size="sm" c="dimmed" mb={4}>
        {title}
      </Text>
      <img src={address} alt={`${name}, ${title.toLowerCase()}`} className="preview-image" />
    </figure>
  );
}

type Place = Parameters<typeof fileTextQuery>[0];

function Texts({ old, now }: { old: Place; now: Place }) {
  const [before, after] = [useQuery(fileTextQuery(old)), useQuery(fileTextQuery(now))];
  const error = before.error ?? after.error;
  if (error) return <ErrorNotice error={error} />;
  if (before.data === undefined || after.data === undefined) return <WaitingRows rows={2} />;
  const [left, right] = [before.data.text, after.data.text];
  if (left === null || right === null) return <Text size="sm">This file is not text.</Text>;
  return <Lines before={left} after={right} />;
}

function Lines({ before, after }: { before: string; after: string }) {
  const lines = useMemo(() => linesThatDiffer(before, after), [before, after]);
  if (lines === null) return <Text size="sm">Too many lines to compare here.</Text>;
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a box that scrolls must be reachable by keyboard
    <pre className="preview-text diff-text" tabIndex={0} data-testid="text-diff">
      {lines.map((line, number) => (
        <div key={number} data-sign={line[0]}>
          {line}
        </div>
      ))}
    </pre>
  );
}

/** Lines with `+`, `-` or a blank before them, as `diff -u` writes them; null where that would take too long. */
function linesThatDiffer(before: string, after: string): string[] | null {
  if (before.split("\n").length + after.split("\n").length > LINES_MOST) return null;
  const patch = structuredPatch("", "", before, after, "", "", { context: 3, timeout: 2000 });
  if (!patch) return null;
  return patch.hunks.flatMap((hunk) => [
    `@@ -${hunk.oldStart},${hunk.oldLines} +${hunk.newStart},${hunk.newLines} @@`,
    ...hunk.lines,
  ]);
}

import { Text } from "@mantine/core";
import { structuredPatch } from "diff";
import { useMemo } from "react";

/** Lines beyond which finding the difference would hold the page up. */
const LINES_MOST = 20_000;

/** The lines that differ between two texts, with a few around them. */
export function TextDiff({ before, after }: { before: string; after: string }) {
  const lines = useMemo(() => linesThatDiffer(before, after), [before, after]);
  if (lines === null) return <Text size="sm">Too many lines to compare here.</Text>;
  if (lines.length === 0) return <Text size="sm">No differences.</Text>;
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

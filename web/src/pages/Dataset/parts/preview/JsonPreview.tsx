import { Box, SegmentedControl, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useMemo, useState } from "react";
import type { FilePlace } from "../../../../api/commits";
import { fileTextQuery, PREVIEW_BYTES } from "../../../../api/files";
import { Loaded } from "../../../../components/Loaded";
import { formatBytes } from "../../../../lib/quantity";
import { JsonTree } from "./JsonTree";
import { TextPreview } from "./TextPreview";

/** Longer files are shown as text: half a tree says nothing. */
const MOST_BYTES = 4 * 1024 * 1024;

/** JSON as a tree to open and close, or as the text it is. `lines`: one value on each line. */
export function JsonPreview({ file, lines = false }: { file: FilePlace; lines?: boolean }) {
  const result = useQuery(fileTextQuery(file, lines ? PREVIEW_BYTES : MOST_BYTES));
  const [view, setView] = useState("tree");
  return (
    <Loaded result={result}>
      {({ text, isWhole }) => {
        if (text === null || text.trim() === "" || (!isWhole && !lines)) {
          return <TextPreview file={file} note={isWhole ? undefined : longer} />;
        }
        return (
          <>
            <SegmentedControl
              size="xs"
              mb="xs"
              value={view}
              onChange={setView}
              data={[
                { value: "tree", label: "Tree" },
                { value: "text", label: "Text" },
              ]}
            />
            {view === "tree" ? (
              <Tree file={file} text={text} lines={lines} isWhole={isWhole} />
            ) : (
              <TextPreview file={file} />
            )}
          </>
        );
      }}
    </Loaded>
  );
}

const longer = `Files of more than ${formatBytes(MOST_BYTES)} are not shown as a tree.`;

interface TreeProps {
  file: FilePlace;
  text: string;
  lines: boolean;
  isWhole: boolean;
}

function Tree({ file, text, lines, isWhole }: TreeProps) {
  const parsed = useMemo(() => (lines ? parseLines(text, isWhole) : parse(text)), [text, lines, isWhole]);
  if (parsed.problem) return <TextPreview file={file} note={`This is not JSON: ${parsed.problem}`} />;
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a box that scrolls must be reachable by keyboard
    <section className="preview-text preview-tree" aria-label="JSON" tabIndex={0}>
      {lines ? (
        (parsed.value as unknown[]).map((value, index) => (
          <JsonTree key={index} name={String(index + 1)} value={value} />
        ))
      ) : (
        <JsonTree value={parsed.value} opened />
      )}
      {!isWhole && (
        <Box mt="xs">
          <Text size="sm" c="dimmed">
            The first {formatBytes(PREVIEW_BYTES)} are shown.
          </Text>
        </Box>
      )}
    </section>
  );
}

type Parsed = { value: unknown; problem?: undefined } | { problem: string; value?: undefined };

export function parse(text: string): Parsed {
  try {
    return { value: JSON.parse(text) as unknown };
  } catch (error) {
    return { problem: error instanceof Error ? error.message : String(error) };
  }
}

/** A value a line. The last line of a part of a file may be half a one, and is left out. */
export function parseLines(text: string, isWhole: boolean): Parsed {
  const lines = text.split("\n");
  if (!isWhole) lines.pop();
  const values: unknown[] = [];
  for (const [index, line] of lines.entries()) {
    if (line.trim() === "") continue;
    const { value, problem } = parse(line);
    if (problem) return { problem: `line ${index + 1}: ${problem}` };
    values.push(value);
  }
  return { value: values };
}

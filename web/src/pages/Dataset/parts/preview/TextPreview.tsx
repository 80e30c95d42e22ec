import { Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import type { FilePlace } from "../../../../api/commits";
import { fileTextQuery, PREVIEW_BYTES } from "../../../../api/files";
import { Loaded } from "../../../../components/Loaded";
import { formatBytes } from "../../../../lib/quantity";

/** The beginning of a file as the text it is. Nothing in it ever runs. */
export function TextPreview({ file, note }: { file: FilePlace; note?: string }) {
  const result = useQuery(fileTextQuery(file));
  return (
    <Loaded result={result}>
      {({ text, size, isWhole }) => {
        if (text === null) {
          return (
            <Text size="sm">This file is not text ({formatBytes(size)}). Download it to look inside.</Text>
          );
        }
        if (text === "") return <Text size="sm">This file is empty.</Text>;
        return (
          <>
            {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a box that scrolls must be reachable by keyboard */}
            <pre className="preview-text" tabIndex={0}>
              {text}
            </pre>
            {(note || !isWhole) && (
              <Text size="sm" c="dimmed" mt="xs">
                {note}{" "}
                {!isWhole && `The first ${formatBytes(PREVIEW_BYTES)} of ${formatBytes(size)} are shown.`}
              </Text>
            )}
          </>
        );
      }}
    </Loaded>
  );
}

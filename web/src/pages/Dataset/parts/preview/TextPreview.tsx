import { Button, Group, Text } from "@mantine/core";
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { useState } from "react";
import type { FilePlace } from "../../../../api/commits";
import { fileTextQuery, PREVIEW_BYTES } from "../../../../api/files";
import { Loaded } from "../../../../components/Loaded";
import { formatBytes } from "../../../../lib/quantity";

/** More text than this makes the page slow. */
const MOST_BYTES = 16 * PREVIEW_BYTES;

/** The beginning of a file as the text it is. Nothing in it ever runs. */
export function TextPreview({ file, note }: { file: FilePlace; note?: string }) {
  const [most, setMost] = useState(PREVIEW_BYTES);
  const result = useQuery({ ...fileTextQuery(file, most), placeholderData: keepPreviousData });
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
            <Group justify="space-between" mt="xs">
              <Text size="sm" c="dimmed">
                {note} {!isWhole && `The first ${formatBytes(most)} of ${formatBytes(size)} are shown.`}
              </Text>
              {!isWhole && most < MOST_BYTES && (
                <Button
                  variant="default"
                  size="xs"
                  loading={result.isPlaceholderData}
                  onClick={() => setMost(4 * most)}
                >
                  Show more
                </Button>
              )}
            </Group>
          </>
        );
      }}
    </Loaded>
  );
}

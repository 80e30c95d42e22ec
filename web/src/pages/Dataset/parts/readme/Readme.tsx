import { Group, Paper, Text, Title } from "@mantine/core";
import { IconBook } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";
import { lazy, Suspense } from "react";
import type { FilePlace } from "../../../../api/commits";
import { fileTextQuery } from "../../../../api/files";
import type { TreeEntry } from "../../../../api/shapes";
import { WaitingRows } from "../../../../components/Waiting";
import { formatBytes } from "../../../../lib/quantity";

// Most folders have none: the parser is loaded with the first one.
const Markdown = lazy(() => import("./Markdown"));

/** The entry that describes its folder, if there is one. */
export function readmeIn(entries: readonly TreeEntry[]): TreeEntry | undefined {
  return entries.find((entry) => entry.kind !== "directory" && /^readme\.(md|markdown)$/i.test(entry.name));
}

/** The README of the folder `place`. One that is not text, or cannot be read, is left to its preview. */
export function Readme({ place, commit, path }: { place: FilePlace; commit: string; path: string }) {
  const { data } = useQuery(fileTextQuery({ ...place, ref: commit, path }));
  if (!data?.text) return null;
  const name = path.split("/").at(-1);
  return (
    <Paper withBorder p="md" mt="md" component="section" aria-label={name}>
      <Group gap="xs" mb="sm">
        <IconBook size={17} aria-hidden />
        <Title order={2} size="h6">
          {name}
        </Title>
      </Group>
      <Suspense fallback={<WaitingRows />}>
        <Markdown text={data.text} place={place} commit={commit} />
      </Suspense>
      {!data.isWhole && (
        <Text size="sm" c="dimmed">
          Only the beginning of {formatBytes(data.size)} is shown. Open the file to read on.
        </Text>
      )}
    </Paper>
  );
}

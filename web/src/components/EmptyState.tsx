import { Anchor, Group, Paper, Stack, Text, ThemeIcon } from "@mantine/core";
import type { Icon } from "@tabler/icons-react";
import type { ReactNode } from "react";
import { docsAddress } from "../lib/base";
import { CommandLine } from "./Copyable";

interface Props {
  icon: Icon;
  /** One sentence that says what is missing and what it is for. */
  sentence: string;
  action?: ReactNode;
  command?: string;
  /** The page of the documentation that tells more, like `jobs/`. */
  docs?: string;
}

/** What a page shows when there is nothing yet: one sentence, one button, the command line that does the same. */
export function EmptyState({ icon: Picture, sentence, action, command, docs }: Props) {
  return (
    <Paper withBorder p="xl">
      <Stack align="center" gap="md" py="lg">
        <ThemeIcon size={48} radius="xl" variant="light" aria-hidden>
          <Picture size={26} />
        </ThemeIcon>
        <Text ta="center" maw={520}>
          {sentence}
        </Text>
        {action}
        {command && <CommandLine command={command} />}
        {docs && (
          <Anchor href={docsAddress(docs)} target="_blank" size="sm">
            Read how it works
          </Anchor>
        )}
      </Stack>
    </Paper>
  );
}

/** The same for one of several lists on a page: a line each. */
export function BriefEmptyState({ words, action }: { words: string; action?: ReactNode }) {
  return (
    <Paper withBorder p="md">
      <Group justify="space-between">
        <Text size="sm" c="dimmed">
          {words}
        </Text>
        {action}
      </Group>
    </Paper>
  );
}

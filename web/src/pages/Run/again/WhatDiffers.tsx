import { Group, List, Paper, Stack, Text, ThemeIcon } from "@mantine/core";
import { type Icon, IconAlertTriangle, IconCheck, IconCircleX, IconPencil } from "@tabler/icons-react";
import type { Rerun, RerunPart } from "../../../api/shapes";
import { Section } from "../../../components/Section";

const LOOKS: Record<RerunPart["state"], readonly [Icon, string, string]> = {
  gone: [IconCircleX, "red", "gone"],
  changed: [IconPencil, "blue", "changed"],
  unpinned: [IconAlertTriangle, "orange", "not pinned"],
  same: [IconCheck, "green", "same"],
};
const ORDER = Object.keys(LOOKS) as RerunPart["state"][];

/** What of the run is the same, changed, not pinned or gone: the worst first. */
export function WhatDiffers({ plan }: { plan: Rerun }) {
  const parts = ORDER.flatMap((state) => plan.parts.filter((part) => part.state === state));
  return (
    <Section title={plan.can_start ? "What differs" : "It cannot be run again"} bare>
      <Paper withBorder p="sm">
        <List spacing={6} center={false} listStyleType="none" aria-label="What differs">
          {parts.map((part, index) => (
            <Part key={index} part={part} />
          ))}
        </List>
      </Paper>
    </Section>
  );
}

function Part({ part }: { part: RerunPart }) {
  const [Picture, color, word] = LOOKS[part.state];
  return (
    <List.Item>
      <Group gap="xs" wrap="nowrap" align="flex-start">
        <ThemeIcon size={20} radius="xl" variant="light" color={color} aria-hidden>
          <Picture size={13} />
        </ThemeIcon>
        <Stack gap={0}>
          <Text size="sm" style={{ overflowWrap: "anywhere" }}>
            <Text span size="sm" fw={600}>
              {part.part}, {word}:
            </Text>{" "}
            {part.text}
          </Text>
          {part.hint && (
            <Text size="xs" c="dimmed">
              {part.hint}
            </Text>
          )}
        </Stack>
      </Group>
    </List.Item>
  );
}

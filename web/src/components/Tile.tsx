import { Group, Paper, Text } from "@mantine/core";
import type { ReactNode } from "react";

interface Props {
  label: string;
  link?: ReactNode;
  /** One quiet line under the number. */
  note?: ReactNode;
  children: ReactNode;
}

/** One number that matters, with its name. */
export function Tile({ label, link, note, children }: Props) {
  return (
    <Paper withBorder p="md">
      <Group justify="space-between" align="flex-start" wrap="nowrap">
        <Text size="sm" c="dimmed">
          {label}
        </Text>
        {link}
      </Group>
      <Text component="div" size="xl" fw={650} mt={4}>
        {children}
      </Text>
      {note && (
        <Text size="sm" c="dimmed" component="div">
          {note}
        </Text>
      )}
    </Paper>
  );
}

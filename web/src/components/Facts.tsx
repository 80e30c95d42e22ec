import { Box, Group, Text } from "@mantine/core";
import type { ReactNode } from "react";

export interface Fact {
  name: string;
  value: ReactNode;
}

/** Names and values beside each other, as many in a row as there is room for. */
export function Facts({ facts }: { facts: Fact[] }) {
  return (
    <Group component="dl" gap="12px 32px" m={0} align="flex-start">
      {facts.map(({ name, value }) => (
        <Box key={name} maw="100%">
          <Text component="dt" size="xs" c="dimmed">
            {name}
          </Text>
          <Text component="dd" size="sm" m={0} style={{ overflowWrap: "anywhere" }}>
            {value}
          </Text>
        </Box>
      ))}
    </Group>
  );
}

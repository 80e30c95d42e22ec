import { Group, Paper, Title } from "@mantine/core";
import type { ReactNode } from "react";

interface Props {
  title: string;
  /** Beside the title. */
  actions?: ReactNode;
  /** Without a frame, for what has one of its own. */
  bare?: boolean;
  children: ReactNode;
}

/** One part of a tab, with a heading. */
export function Section({ title, actions, bare = false, children }: Props) {
  return (
    <section aria-label={title}>
      <Group justify="space-between" mb="xs" mih={28} gap="xs">
        <Title order={2} size="h5">
          {title}
        </Title>
        {actions && <Group gap="xs">{actions}</Group>}
      </Group>
      {bare ? children : <Paper withBorder>{children}</Paper>}
    </section>
  );
}

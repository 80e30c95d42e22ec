import { Box, Group, Title } from "@mantine/core";
import { useDocumentTitle } from "@mantine/hooks";
import type { ReactNode } from "react";

interface Props {
  title: string;
  /** Stands before the title: where this page belongs. */
  above?: ReactNode;
  below?: ReactNode;
  actions?: ReactNode;
}

/** The head of every page; it also names the browser's tab. */
export function PageHeader({ title, above, below, actions }: Props) {
  useDocumentTitle(`${title} · Millpond`);
  return (
    <Group justify="space-between" align="flex-start" mb="lg" wrap="wrap" className="page-header">
      <Box maw="100%">
        {above}
        <Title order={1} size="h2" style={{ overflowWrap: "anywhere" }}>
          {title}
        </Title>
        {below}
      </Box>
      {actions && <Group gap="xs">{actions}</Group>}
    </Group>
  );
}

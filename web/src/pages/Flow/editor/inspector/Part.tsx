import { Collapse, Group, Stack, Text, UnstyledButton } from "@mantine/core";
import { IconChevronDown, IconChevronRight } from "@tabler/icons-react";
import { type ReactNode, useState } from "react";

interface Props {
  title: string;
  /** What is set there, in a few words. */
  told?: string;
  /** Open at first. */
  isOpen?: boolean;
  children: ReactNode;
}

/** One group of fields, folded away where it is rarely used. */
export function Part({ title, told, isOpen = true, children }: Props) {
  const [opened, setOpened] = useState(isOpen);
  const Picture = opened ? IconChevronDown : IconChevronRight;
  return (
    <section aria-label={title} className="flow-part">
      <UnstyledButton onClick={() => setOpened(!opened)} aria-expanded={opened} w="100%" py={6}>
        <Group gap={6} wrap="nowrap">
          <Picture size={14} aria-hidden />
          <Text size="sm" fw={600}>
            {title}
          </Text>
          {!opened && told && (
            <Text size="xs" c="dimmed" truncate ml="auto">
              {told}
            </Text>
          )}
        </Group>
      </UnstyledButton>
      <Collapse expanded={opened}>
        <Stack gap="xs" pb="sm">
          {children}
        </Stack>
      </Collapse>
    </section>
  );
}

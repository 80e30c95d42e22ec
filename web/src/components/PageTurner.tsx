import { Button, Group, Text } from "@mantine/core";
import { IconChevronLeft, IconChevronRight, IconChevronsLeft } from "@tabler/icons-react";
import type { Trail } from "../hooks/useTrail";

interface Props {
  trail: Trail;
  /** Where the page behind this one begins; nothing on the last. */
  next: string | null | undefined;
  onTurn: (page: number | undefined) => void;
  /** Newest first, unless told otherwise. */
  inOrder?: boolean;
}

/** Through a long list, a page at a time; nothing where one page holds all. */
export function PageTurner({ trail, next, onTurn, inOrder = true }: Props) {
  const { number } = trail;
  if (number === 1 && !next) return null;
  const [first, back, on] = inOrder ? ["Newest", "Newer", "Older"] : ["First", "Back", "Next"];
  const turn = (page: number) => onTurn(page > 1 ? page : undefined);
  return (
    <Group component="nav" aria-label="Pages" justify="center" gap="xs">
      {number > 2 && (
        <Button
          variant="default"
          leftSection={<IconChevronsLeft size={16} aria-hidden />}
          onClick={() => turn(1)}
        >
          {first}
        </Button>
      )}
      <Button
        variant="default"
        leftSection={<IconChevronLeft size={16} aria-hidden />}
        disabled={number === 1}
        onClick={() => turn(number - 1)}
      >
        {back}
      </Button>
      <Text size="sm" aria-live="polite">
        Page {number}
      </Text>
      <Button
        variant="default"
        rightSection={<IconChevronRight size={16} aria-hidden />}
        disabled={!next}
        onClick={() => next && turn(trail.on(next))}
      >
        {on}
      </Button>
    </Group>
  );
}

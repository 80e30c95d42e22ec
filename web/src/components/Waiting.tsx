import { SimpleGrid, Skeleton, Stack } from "@mantine/core";

const many = (count: number) => Array.from({ length: count }, (_, index) => index);

/** The shape of rows that are on their way. */
export function WaitingRows({ rows = 5 }: { rows?: number }) {
  return (
    <Stack gap="xs" role="status" aria-label="Loading">
      {many(rows).map((row) => (
        <Skeleton key={row} height={34} />
      ))}
    </Stack>
  );
}

/** The shape of cards that are on their way. */
export function WaitingCards({ cards = 3, height = 150 }: { cards?: number; height?: number }) {
  return (
    <SimpleGrid cols={{ base: 1, sm: 2, lg: 3 }} role="status" aria-label="Loading">
      {many(cards).map((card) => (
        <Skeleton key={card} height={height} />
      ))}
    </SimpleGrid>
  );
}

import { Button, Center } from "@mantine/core";

interface Props {
  result: { hasNextPage: boolean; isFetchingNextPage: boolean; fetchNextPage: () => unknown };
}

/** The button for the next part of a list; nothing where there is none. */
export function ShowMore({ result }: Props) {
  if (!result.hasNextPage) return null;
  return (
    <Center>
      <Button variant="default" onClick={() => result.fetchNextPage()} loading={result.isFetchingNextPage}>
        Show more
      </Button>
    </Center>
  );
}

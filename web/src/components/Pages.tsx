import { Stack } from "@mantine/core";
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import type { ReactNode } from "react";
import type { byPage } from "../api/paging";
import { useTrail } from "../hooks/useTrail";
import { Loaded } from "./Loaded";
import { PageTurner } from "./PageTurner";

interface Props<Item> {
  /** What is listed and how it was narrowed: another list begins at its beginning. */
  list: string;
  query: ReturnType<typeof byPage<Item>>;
  /** Which page is shown, as the address says. */
  page: number | undefined;
  onTurn: (page: number | undefined) => void;
  /** Newest first, unless told otherwise. */
  inOrder?: boolean;
  /** Shown when there is nothing at all. */
  empty: ReactNode;
  children: (items: Item[]) => ReactNode;
}

/** A list of any length, a page at a time: the page before stays until the next has come. */
export function Pages<Item>({ list, query, page, onTurn, inOrder, empty, children }: Props<Item>) {
  const trail = useTrail(list, page);
  const result = useQuery({ ...query(trail.cursor), placeholderData: keepPreviousData });
  return (
    <Loaded result={result}>
      {({ items, next }) =>
        items.length === 0 && trail.number === 1 ? (
          empty
        ) : (
          <Stack>
            {children(items)}
            <PageTurner trail={trail} next={next} onTurn={onTurn} inOrder={inOrder} />
          </Stack>
        )
      }
    </Loaded>
  );
}

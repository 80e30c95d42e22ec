import { Stack } from "@mantine/core";
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import type { ReactNode } from "react";
import type { byPage } from "../api/paging";
import { useTrail } from "../hooks/useTrail";
import { WholeList } from "./DataTable";
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
  /** `whole` is true where this page is all there is. */
  children: (items: Item[], whole: boolean) => ReactNode;
}

/** A list of any length, a page at a time: the page before stays until the next has come. */
export function Pages<Item>({ list, query, page, onTurn, inOrder, empty, children }: Props<Item>) {
  const trail = useTrail(list, page);
  const result = useQuery({ ...query(trail.cursor), placeholderData: keepPreviousData });
  return (
    <Loaded result={result}>
      {({ items, next }) => {
        if (items.length === 0 && trail.number === 1) return empty;
        const whole = trail.number === 1 && !next;
        return (
          <Stack>
            <WholeList value={whole}>{children(items, whole)}</WholeList>
            <PageTurner trail={trail} next={next} onTurn={onTurn} inOrder={inOrder} />
          </Stack>
        );
      }}
    </Loaded>
  );
}

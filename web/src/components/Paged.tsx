import { Stack } from "@mantine/core";
import type { InfiniteData, UseInfiniteQueryResult } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { itemsOf, type Page } from "../api/paging";
import { WholeList } from "./DataTable";
import { ErrorNotice } from "./ErrorNotice";
import { ShowMore } from "./ShowMore";
import { WaitingRows } from "./Waiting";

interface Props<Item> {
  result: UseInfiniteQueryResult<InfiniteData<Page<Item>>>;
  /** Shown when there is nothing at all. */
  empty: ReactNode;
  waiting?: ReactNode;
  children: (items: Item[]) => ReactNode;
}

/** The four faces of a list: on its way, failed, empty, or there with a button for more. */
export function Paged<Item>({ result, empty, waiting = <WaitingRows />, children }: Props<Item>) {
  const items = itemsOf(result.data);
  if (result.isPending) return waiting;
  if (!result.data) return <ErrorNotice error={result.error} retry={result.refetch} />;
  if (items.length === 0) return empty;
  return (
    <Stack>
      <WholeList value={!result.hasNextPage}>{children(items)}</WholeList>
      <ShowMore result={result} />
    </Stack>
  );
}

/** Lists come in pages; this is the one way to ask for them. */
import { infiniteQueryOptions, type QueryKey, queryOptions } from "@tanstack/react-query";

export interface Page<Item> {
  items: Item[];
  next?: string | null;
}

/** For `Pages`: options for `useQuery` of the page that begins at a cursor. */
export function byPage<Item>(key: QueryKey, ask: (cursor: string | undefined) => Promise<Page<Item>>) {
  return (cursor: string | undefined) =>
    queryOptions({ queryKey: [...key, "page", cursor], queryFn: () => ask(cursor) });
}

/** Options for `useInfiniteQuery`: `ask` gets the cursor of the page to load. */
export function paged<Item>(key: QueryKey, ask: (cursor: string | undefined) => Promise<Page<Item>>) {
  return infiniteQueryOptions({
    queryKey: key,
    queryFn: ({ pageParam }) => ask(pageParam),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (last) => last.next ?? undefined,
  });
}

export function itemsOf<Item>(data: { pages: Page<Item>[] } | undefined): Item[] {
  return data?.pages.flatMap((page) => page.items) ?? [];
}

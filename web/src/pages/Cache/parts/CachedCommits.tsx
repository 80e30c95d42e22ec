import { Group, Text, Title } from "@mantine/core";
import { IconRipple } from "@tabler/icons-react";
import { keepPreviousData, useInfiniteQuery } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { type CacheFilter, cachesQuery } from "../../../api/caches";
import { EmptyState } from "../../../components/EmptyState";
import { Paged } from "../../../components/Paged";
import { CachedTable } from "./CachedTable";

interface Props {
  filter: CacheFilter;
  /** What narrows the list, beside its heading. */
  narrowing?: ReactNode;
}

export function CachedCommits({ filter, narrowing }: Props) {
  const caches = useInfiniteQuery({ ...cachesQuery(filter), placeholderData: keepPreviousData });
  const narrowed = Object.values(filter).some(Boolean);
  return (
    <section>
      <Group justify="space-between" mb="xs">
        <Title order={2} size="h4">
          Cached commits
        </Title>
        {narrowing}
      </Group>
      <Paged
        result={caches}
        empty={
          narrowed ? (
            <Text size="sm">No cached commit matches.</Text>
          ) : (
            <EmptyState
              icon={IconRipple}
              sentence="Nothing is cached yet: open a dataset and press Cache on a commit, once for everybody."
              command="mill cache add my-data"
            />
          )
        }
      >
        {(cached) => <CachedTable cached={cached} />}
      </Paged>
    </section>
  );
}

import { Group, Text, Title } from "@mantine/core";
import { IconRipple } from "@tabler/icons-react";
import { type ReactNode, useRef } from "react";
import { type CacheFilter, cachesPages } from "../../../api/caches";
import { EmptyState } from "../../../components/EmptyState";
import { Pages } from "../../../components/Pages";
import { CachedTable } from "./CachedTable";

interface Props {
  filter: CacheFilter;
  /** What narrows the list, beside its heading. */
  narrowing?: ReactNode;
  /** Which page of the list, and what shows another. */
  page: number | undefined;
  onTurn: (page: number | undefined) => void;
}

export function CachedCommits({ filter, narrowing, page, onTurn }: Props) {
  const top = useRef<HTMLElement>(null);
  const narrowed = Object.values(filter).some(Boolean);
  return (
    <section ref={top} className="scrolled-to">
      <Group justify="space-between" mb="xs">
        <Title order={2} size="h4">
          Cached commits
        </Title>
        {narrowing}
      </Group>
      <Pages
        list={`caches ${JSON.stringify(filter)}`}
        query={cachesPages(filter)}
        page={page}
        onTurn={(number) => {
          onTurn(number);
          top.current?.scrollIntoView();
        }}
        inOrder={false}
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
        {(cached) => <CachedTable cached={cached} oneVolume={filter.volume !== undefined} />}
      </Pages>
    </section>
  );
}

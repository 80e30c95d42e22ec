import { Button, Group, Text, Title } from "@mantine/core";
import { IconRipple } from "@tabler/icons-react";
import { Link } from "@tanstack/react-router";
import { type ReactNode, useRef } from "react";
import { type CachedKind, type CacheFilter, cachesPages } from "../../../api/caches";
import { EmptyState } from "../../../components/EmptyState";
import { Pages } from "../../../components/Pages";
import { CachedTable } from "./CachedTable";

interface Props {
  filter: CacheFilter;
  kind?: CachedKind;
  /** What narrows the list, beside its heading. */
  narrowing?: ReactNode;
  /** Which page of the list, and what shows another. */
  page: number | undefined;
  onTurn: (page: number | undefined) => void;
}

const HEADINGS: Record<CachedKind, string> = {
  data: "Cached commits",
  jobs: "Code and outputs of jobs",
};

export function CachedCommits({ filter, kind = "data", narrowing, page, onTurn }: Props) {
  const top = useRef<HTMLElement>(null);
  const narrowed = Object.values(filter).some(Boolean);
  return (
    <section ref={top} className="scrolled-to">
      <Group justify="space-between" mb="xs">
        <Title order={2} size="h4">
          {HEADINGS[kind]}
        </Title>
        {narrowing}
      </Group>
      <Pages
        list={`caches ${kind} ${JSON.stringify(filter)}`}
        query={cachesPages(filter, kind)}
        page={page}
        onTurn={(number) => {
          onTurn(number);
          top.current?.scrollIntoView();
        }}
        inOrder={false}
        empty={narrowed ? <Text size="sm">No matching cached commits.</Text> : <NothingCached kind={kind} />}
      >
        {(cached) => <CachedTable cached={cached} oneVolume={filter.volume !== undefined} />}
      </Pages>
    </section>
  );
}

function NothingCached({ kind }: { kind: CachedKind }) {
  if (kind === "jobs") {
    return <Text size="sm">No code or outputs are cached. Jobs cache their code by themselves.</Text>;
  }
  return (
    <EmptyState
      icon={IconRipple}
      sentence="No cached commits yet. Cache a commit once and every job and user reads it from there."
      action={
        <Button component={Link} to="/datasets">
          Choose a dataset
        </Button>
      }
      command="mill cache add my-data"
    />
  );
}

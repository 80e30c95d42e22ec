import { Button, Paper, Stack, Text, Title } from "@mantine/core";
import { useInfiniteQuery } from "@tanstack/react-query";
import { createColumnHelper } from "@tanstack/react-table";
import { policiesQuery, useKeepBranch, useUnkeepBranch } from "../../../api/cachePlans";
import type { CacheFilter } from "../../../api/caches";
import { useMay } from "../../../api/session";
import type { CachedState, CachePolicy } from "../../../api/shapes";
import { CommandLine } from "../../../components/Copyable";
import { DataTable } from "../../../components/DataTable";
import { notifyUndo, tell } from "../../../components/notify";
import { Paged } from "../../../components/Paged";
import { Status } from "../../../components/Status";
import { TextLink } from "../../../components/TextLink";
import { shellQuote, shortId } from "../../../lib/names";

const column = createColumnHelper<CachePolicy>();

const COLUMNS = [
  column.accessor("dataset", { header: "Branch", cell: ({ row }) => <Branch policy={row.original} /> }),
  column.accessor("volume", { header: "Volume" }),
  column.accessor("state", { header: "Newest commit", cell: ({ row }) => <Newest policy={row.original} /> }),
  column.accessor("created_by", { header: "Kept by" }),
  column.display({ id: "actions", header: "Actions", cell: ({ row }) => <Unkeep policy={row.original} /> }),
];

/** Branches that are kept cached: every new commit comes by itself, the one before ages out. */
export function Policies({ filter }: { filter: CacheFilter }) {
  const result = useInfiniteQuery(policiesQuery(filter));
  const on = filter.volume ?? "VOLUME";
  return (
    <section>
      <Title order={2} size="h4" mb="xs">
        Kept branches
      </Title>
      <Stack>
        <Paged
          result={result}
          empty={
            <Text size="sm">
              No branch is kept here. Keep one from the commits of its dataset, and every new commit is cached
              by itself.
            </Text>
          }
        >
          {(policies) => (
            <Paper withBorder>
              <DataTable label="Kept branches" rows={policies} columns={COLUMNS} rowId={(row) => row.id} />
            </Paper>
          )}
        </Paged>
        <CommandLine command={`mill cache keep DATASET@BRANCH --on ${shellQuote(on)}`} />
      </Stack>
    </section>
  );
}

function Branch({ policy }: { policy: CachePolicy }) {
  return (
    <>
      <TextLink
        to="/projects/$project/datasets/$dataset"
        params={{ project: policy.project, dataset: policy.dataset }}
        search={{ tab: "commits", ref: policy.branch }}
        size="sm"
        fw={600}
      >
        {policy.dataset}@{policy.branch}
      </TextLink>
      <Text size="xs" c="dimmed">
        {policy.project}
      </Text>
    </>
  );
}

function Newest({ policy }: { policy: CachePolicy }) {
  return (
    <>
      {policy.state ? <Status state={policy.state as CachedState} /> : "not there"}{" "}
      {policy.commit_id && <span className="mono">{shortId(policy.commit_id)}</span>}
      {policy.problem && (
        <Text size="xs" c="red.9" maw={320}>
          {policy.problem}
        </Text>
      )}
    </>
  );
}

function Unkeep({ policy }: { policy: CachePolicy }) {
  const may = useMay(policy.project, "member");
  const unkeep = useUnkeepBranch();
  const keep = useKeepBranch();
  if (!may) return null;
  const { project, dataset, branch, volume } = policy;
  const name = `${dataset}@${branch}`;
  const again = () => tell(keep.mutateAsync({ project, dataset: name, volume }));
  return (
    <Button
      size="compact-sm"
      variant="default"
      loading={unkeep.isPending}
      aria-label={`Keep no longer: ${name} on ${volume}`}
      onClick={() =>
        tell(unkeep.mutateAsync(policy.id), () =>
          notifyUndo(`${name} is no longer kept on ${volume}; what is there ages out.`, again),
        )
      }
    >
      Keep no longer
    </Button>
  );
}

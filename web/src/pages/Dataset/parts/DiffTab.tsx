import { ActionIcon, Button, Group, Stack, Text, Tooltip } from "@mantine/core";
import { IconArrowsExchange, IconGitMerge } from "@tabler/icons-react";
import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { useState } from "react";
import { commitsQuery } from "../../../api/commits";
import { refsQuery } from "../../../api/datasets";
import { itemsOf } from "../../../api/paging";
import { useMay } from "../../../api/session";
import type { Dataset } from "../../../api/shapes";
import { CommandLine } from "../../../components/Copyable";
import { shellQuote, shortRef } from "../../../lib/names";
import { Difference } from "./Difference";
import { MergeDialog } from "./MergeDialog";
import { NoCommits } from "./NoCommits";
import { SideSelect } from "./SideSelect";

const route = getRouteApi("/in/projects/$project/datasets/$dataset");

/** What differs between any two branches, tags or commits; without a choice, between the newest two commits. */
export function DiffTab({ dataset }: { dataset: Dataset }) {
  const search = route.useSearch();
  const ofJobs = dataset.kind !== "data";
  const ref = ofJobs ? undefined : (search.ref ?? dataset.default_branch);
  const isEmpty = ofJobs ? dataset.commits === 0 : dataset.head === null;
  const navigate = route.useNavigate();
  const place = { project: dataset.project, dataset: dataset.name };
  const history = useInfiniteQuery({ ...commitsQuery({ ...place, ref }), enabled: !isEmpty });
  const commits = itemsOf(history.data);
  const after = search.after ?? commits[0]?.id;
  const before = search.before ?? commits[1]?.id;
  const choose = (part: { before?: string; after?: string }) =>
    navigate({ search: { tab: "diff", ref: search.ref, before, after, ...part } });

  if (isEmpty) return <NoCommits dataset={dataset} />;
  return (
    <Stack>
      <Group align="flex-end" gap="xs">
        <SideSelect
          label="Before"
          {...{ place, commits }}
          value={before}
          onChange={(side) => choose({ before: side })}
        />
        <Tooltip label="Swap sides">
          <ActionIcon
            variant="default"
            size={36}
            aria-label="Swap sides"
            onClick={() => choose({ before: after, after: before })}
          >
            <IconArrowsExchange size={18} />
          </ActionIcon>
        </Tooltip>
        <SideSelect
          label="After"
          {...{ place, commits }}
          value={after}
          onChange={(side) => choose({ after: side })}
        />
        {before && after && <MergeButton dataset={dataset} into={before} source={after} />}
      </Group>
      {before && after ? (
        <>
          <CommandLine command={diffCommand(dataset, before, after)} />
          <Difference place={place} before={before} after={after} />
        </>
      ) : (
        history.isSuccess && <Text>Only one commit yet. Sync again to compare.</Text>
      )}
    </Stack>
  );
}

function diffCommand(dataset: Dataset, before: string, after: string): string {
  const sides = [before, after].map((ref) =>
    shellQuote(`${dataset.project}/${dataset.name}@${shortRef(ref)}`),
  );
  return `mill data diff ${sides.join(" ")}`;
}

/** What is compared can be merged where the side before is a branch. */
function MergeButton({ dataset, into, source }: { dataset: Dataset; into: string; source: string }) {
  const may = useMay(dataset.project, "member") && dataset.kind === "data";
  const refs = useQuery(refsQuery({ project: dataset.project, dataset: dataset.name })).data?.items ?? [];
  const [opened, setOpened] = useState(false);
  if (!may || !refs.some((ref) => ref.name === into && ref.type === "branch") || into === source) return null;
  return (
    <>
      <Button
        variant="default"
        leftSection={<IconGitMerge size={16} aria-hidden />}
        onClick={() => setOpened(true)}
      >
        Merge {shortRef(source)} into {into}
      </Button>
      {opened && (
        <MergeDialog dataset={dataset} source={source} into={into} onClose={() => setOpened(false)} />
      )}
    </>
  );
}

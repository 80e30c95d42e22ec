import { Group, Stack } from "@mantine/core";
import { useInfiniteQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { commitsQuery } from "../../../api/commits";
import type { Dataset } from "../../../api/shapes";
import { CommandLine } from "../../../components/Copyable";
import { Paged } from "../../../components/Paged";
import { CommitRow } from "./CommitRow";
import { KeepBranch } from "./KeepBranch";
import { NoCommits } from "./NoCommits";
import { RefActions } from "./RefActions";
import { RefSelect } from "./RefSelect";

const route = getRouteApi("/in/projects/$project/datasets/$dataset");

export function CommitsTab({ dataset }: { dataset: Dataset }) {
  const { ref: asked } = route.useSearch();
  const ref = asked ?? dataset.default_branch;
  // What jobs run and make has commits and no main branch.
  const isEmpty = dataset.head === null && !asked;
  const place = { project: dataset.project, dataset: dataset.name };
  const result = useInfiniteQuery({ ...commitsQuery({ ...place, ref }), enabled: !isEmpty });
  const navigate = route.useNavigate();
  if (isEmpty) return <NoCommits dataset={dataset} />;
  return (
    <Stack>
      <Group justify="space-between">
        <Group gap="xs">
          <RefSelect
            place={place}
            value={ref}
            onChange={(chosen) => navigate({ search: { tab: "commits", ref: chosen } })}
          />
          <RefActions dataset={dataset} at={ref} />
          <KeepBranch place={place} branch={ref} />
        </Group>
        <CommandLine command={`mill cache add ${dataset.project}/${dataset.name}@${ref}`} />
      </Group>
      <Paged result={result} empty={<NoCommits dataset={dataset} />}>
        {(commits) => (
          <Stack gap="sm" component="ul" m={0} p={0} style={{ listStyle: "none" }}>
            {commits.map((commit) => (
              <CommitRow key={commit.id} commit={commit} place={place} />
            ))}
          </Stack>
        )}
      </Paged>
    </Stack>
  );
}

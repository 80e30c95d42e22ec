import { Group, Stack } from "@mantine/core";
import { getRouteApi } from "@tanstack/react-router";
import { commitsPages } from "../../../api/commits";
import type { Dataset } from "../../../api/shapes";
import { CommandLine } from "../../../components/Copyable";
import { Pages } from "../../../components/Pages";
import { CommitRow } from "./CommitRow";
import { KeepBranch } from "./KeepBranch";
import { NoCommits } from "./NoCommits";
import { RefActions } from "./RefActions";
import { RefSelect } from "./RefSelect";

const route = getRouteApi("/in/projects/$project/datasets/$dataset");

/** The history of a branch; of what jobs ran and made, every commit. */
export function CommitsTab({ dataset }: { dataset: Dataset }) {
  const place = { project: dataset.project, dataset: dataset.name };
  const ofJobs = dataset.kind !== "data";
  const { ref: asked, page } = route.useSearch();
  const navigate = route.useNavigate();
  const ref = ofJobs ? undefined : (asked ?? dataset.default_branch);
  const isEmpty = ofJobs ? dataset.commits === 0 : dataset.head === null && !asked;
  if (isEmpty) return <NoCommits dataset={dataset} />;
  return (
    <Stack>
      {ref ? <BranchBar dataset={dataset} shown={ref} /> : <JobsBar dataset={dataset} />}
      <Pages
        // Of another branch nothing stays.
        key={ref}
        list={`commits ${dataset.id} ${ref}`}
        query={commitsPages({ ...place, ref })}
        page={page}
        onTurn={(number) => navigate({ search: { tab: "commits", ref: asked, page: number } })}
        empty={<NoCommits dataset={dataset} />}
      >
        {(commits) => (
          <Stack gap="sm" component="ul" m={0} p={0} style={{ listStyle: "none" }}>
            {commits.map((commit) => (
              <CommitRow key={commit.id} commit={commit} place={place} />
            ))}
          </Stack>
        )}
      </Pages>
    </Stack>
  );
}

function BranchBar({ dataset, shown }: { dataset: Dataset; shown: string }) {
  const place = { project: dataset.project, dataset: dataset.name };
  const navigate = route.useNavigate();
  return (
    <Group justify="space-between">
      <Group gap="xs">
        <RefSelect
          place={place}
          value={shown}
          onChange={(chosen) => navigate({ search: { tab: "commits", ref: chosen } })}
        />
        <RefActions dataset={dataset} at={shown} />
        <KeepBranch place={place} branch={shown} />
      </Group>
      <CommandLine command={`mill cache add ${dataset.project}/${dataset.name}@${shown}`} />
    </Group>
  );
}

function JobsBar({ dataset }: { dataset: Dataset }) {
  return (
    <Group justify="flex-end">
      <CommandLine command={`mill data commits ${dataset.project}/${dataset.name}`} />
    </Group>
  );
}

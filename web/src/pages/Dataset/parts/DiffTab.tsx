import { Group, Stack, Text } from "@mantine/core";
import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { commitsQuery, diffQuery } from "../../../api/commits";
import { itemsOf } from "../../../api/paging";
import type { Dataset } from "../../../api/shapes";
import { Loaded } from "../../../components/Loaded";
import { Changes } from "./Changes";
import { CommitSelect } from "./CommitSelect";
import { NoCommits } from "./CommitsTab";

const route = getRouteApi("/in/projects/$project/datasets/$dataset");

/** What changed between two commits; without a choice, between the newest two. */
export function DiffTab({ dataset }: { dataset: Dataset }) {
  const { ref = dataset.default_branch, ...search } = route.useSearch();
  const navigate = route.useNavigate();
  const place = { project: dataset.project, dataset: dataset.name };
  const history = useInfiniteQuery({ ...commitsQuery({ ...place, ref }), enabled: dataset.head !== null });
  const commits = itemsOf(history.data);
  const after = search.after ?? commits[0]?.id;
  const before = search.before ?? commits[1]?.id;
  const diff = useQuery({ ...diffQuery(place, before ?? "", after ?? ""), enabled: !!before && !!after });
  const choose = (part: { before?: string; after?: string }) =>
    navigate({ search: { tab: "diff", ref: search.before ? undefined : ref, before, after, ...part } });

  if (dataset.head === null) return <NoCommits dataset={dataset} />;
  if (history.isSuccess && commits.length < 2 && !search.before) {
    return <Text>There is one commit so far: nothing to compare it with.</Text>;
  }
  return (
    <Stack>
      <Group>
        <CommitSelect
          label="Before"
          commits={commits}
          value={before}
          onChange={(id) => choose({ before: id })}
        />
        <CommitSelect
          label="After"
          commits={commits}
          value={after}
          onChange={(id) => choose({ after: id })}
        />
      </Group>
      <Loaded result={diff}>{(data) => <Changes diff={data} place={place} />}</Loaded>
    </Stack>
  );
}

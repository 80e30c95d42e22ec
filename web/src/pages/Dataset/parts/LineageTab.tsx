import { getRouteApi } from "@tanstack/react-router";
import type { Dataset } from "../../../api/shapes";
import { LineageView } from "../../../components/lineage/LineageView";
import { WaitingRows } from "../../../components/Waiting";
import { shellQuote, shortRef } from "../../../lib/names";
import { CommitSelect } from "./CommitSelect";
import { NoCommits } from "./NoCommits";
import { RefSelect } from "./RefSelect";
import { useShownRef } from "./shownRef";

const route = getRouteApi("/in/projects/$project/datasets/$dataset");

/** What made a commit, and what was made from it. */
export function LineageTab({ dataset }: { dataset: Dataset }) {
  const { ref: asked } = route.useSearch();
  const { ref, isEmpty } = useShownRef(dataset, asked);
  const navigate = route.useNavigate();
  if (isEmpty) return <NoCommits dataset={dataset} />;
  if (!ref) return <WaitingRows />;
  const place = { project: dataset.project, dataset: dataset.name };
  const show = (chosen: string) => navigate({ search: { tab: "lineage", ref: chosen } });
  const Choice = dataset.kind === "data" ? RefSelect : CommitSelect;
  const written = `${dataset.project}/${dataset.name}@${shortRef(ref)}`;
  return (
    <LineageView
      project={dataset.project}
      root={{ commit: `${dataset.name}@${ref}` }}
      command={`mill data lineage ${shellQuote(written)} --graph`}
      tools={<Choice place={place} value={ref} onChange={show} />}
    />
  );
}

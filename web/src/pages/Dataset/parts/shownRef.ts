import { useInfiniteQuery } from "@tanstack/react-query";
import { commitsQuery } from "../../../api/commits";
import { itemsOf } from "../../../api/paging";
import type { Dataset } from "../../../api/shapes";

interface ShownRef {
  /** The branch, tag or commit to show; nothing while that is not known, or where there is nothing. */
  ref: string | undefined;
  isEmpty: boolean;
}

/** What is shown without a choice: the default branch, or of what jobs ran and made the newest commit. */
export function useShownRef(dataset: Dataset, asked: string | undefined): ShownRef {
  const ofJobs = dataset.kind !== "data";
  const place = { project: dataset.project, dataset: dataset.name };
  const newest = useInfiniteQuery({ ...commitsQuery(place), enabled: ofJobs && !asked });
  if (asked) return { ref: asked, isEmpty: false };
  if (!ofJobs) return { ref: dataset.default_branch, isEmpty: dataset.head === null };
  const [first] = itemsOf(newest.data);
  return { ref: first?.id, isEmpty: newest.isSuccess && !first };
}

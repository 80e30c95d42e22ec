import { Select } from "@mantine/core";
import { useInfiniteQuery } from "@tanstack/react-query";
import { commitsQuery } from "../../../api/commits";
import type { DatasetPlace } from "../../../api/datasets";
import { itemsOf } from "../../../api/paging";
import { shortId } from "../../../lib/names";
import { commitTitle } from "./commitTitle";

interface Props {
  place: DatasetPlace;
  value: string;
  onChange: (commit: string) => void;
}

/** Of what jobs ran and made: the newest commits by the names of their jobs, and the one of the address. */
export function CommitSelect({ place, value, onChange }: Props) {
  const commits = itemsOf(useInfiniteQuery(commitsQuery(place)).data);
  const data = commits.map((commit) => ({
    value: commit.id,
    label: `${shortId(commit.id)}  ${commitTitle(commit)}`,
  }));
  const known = commits.some((commit) => commit.id === value);
  return (
    <Select
      aria-label="Commit"
      data={known ? data : [{ value, label: shortId(value) }, ...data]}
      value={value}
      onChange={(commit) => commit && onChange(commit)}
      allowDeselect={false}
      searchable
      w={280}
    />
  );
}

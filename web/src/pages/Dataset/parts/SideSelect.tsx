import { Select } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { type DatasetPlace, refsQuery } from "../../../api/datasets";
import type { Commit } from "../../../api/shapes";
import { shortId, shortRef } from "../../../lib/names";
import { commitTitle } from "./commitTitle";

interface Props {
  label: string;
  place: DatasetPlace;
  /** Commits to choose from, beside the branches and tags. */
  commits: Commit[];
  value: string | undefined;
  onChange: (ref: string) => void;
}

/** One side of a comparison: a branch, a tag, or a commit. */
export function SideSelect({ label, place, commits, value, onChange }: Props) {
  const refs = useQuery(refsQuery(place)).data?.items ?? [];
  const named = (type: "branch" | "tag") => refs.filter((ref) => ref.type === type).map((ref) => ref.name);
  const listed = commits.map((commit) => ({
    value: commit.id,
    label: `${shortId(commit.id)}  ${commitTitle(commit)}`,
  }));
  const known = refs.some((ref) => ref.name === value) || commits.some((commit) => commit.id === value);
  const foreign = value && !known ? [{ value, label: shortRef(value) }] : [];
  const data = [
    { group: "Branches", items: named("branch") },
    { group: "Tags", items: named("tag") },
    { group: "Commits", items: [...foreign, ...listed] },
  ];
  return (
    <Select
      label={label}
      data={data.filter((group) => group.items.length > 0)}
      value={value ?? null}
      onChange={(ref) => ref && onChange(ref)}
      allowDeselect={false}
      searchable
      w={320}
    />
  );
}

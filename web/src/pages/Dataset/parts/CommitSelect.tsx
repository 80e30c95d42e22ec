import { Select } from "@mantine/core";
import type { Commit } from "../../../api/shapes";
import { shortId } from "../../../lib/names";

interface Props {
  label: string;
  commits: Commit[];
  value: string | undefined;
  onChange: (id: string) => void;
}

export function CommitSelect({ label, commits, value, onChange }: Props) {
  const known = commits.map((commit) => ({
    value: commit.id,
    label: `${shortId(commit.id)}  ${commit.message}`,
  }));
  const foreign = value && !commits.some((commit) => commit.id === value);
  return (
    <Select
      label={label}
      data={foreign ? [{ value, label: shortId(value) }, ...known] : known}
      value={value ?? null}
      onChange={(id) => id && onChange(id)}
      allowDeselect={false}
      searchable
      w={320}
    />
  );
}

import { Select } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { type DatasetPlace, refsQuery } from "../../../api/datasets";
import { shortId } from "../../../lib/names";

interface Props {
  place: DatasetPlace;
  value: string;
  onChange: (ref: string) => void;
  label?: string;
}

/** Branches and tags by name; the ref of the address is listed even when it is a commit id. */
export function RefSelect({ place, value, onChange, label = "Branch, tag or commit" }: Props) {
  const refs = useQuery(refsQuery(place)).data?.items ?? [];
  const group = (type: "branch" | "tag") => refs.filter((ref) => ref.type === type).map((ref) => ref.name);
  const known = refs.some((ref) => ref.name === value);
  const data = [
    ...(known ? [] : [{ group: "Commit", items: [{ value, label: shortId(value) }] }]),
    { group: "Branches", items: group("branch") },
    { group: "Tags", items: group("tag") },
  ];
  return (
    <Select
      aria-label={label}
      data={data.filter((entry) => entry.items.length > 0)}
      value={value}
      onChange={(ref) => ref && onChange(ref)}
      allowDeselect={false}
      searchable
      w={200}
    />
  );
}

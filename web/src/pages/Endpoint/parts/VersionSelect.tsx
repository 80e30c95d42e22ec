import { Select } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { newestVersionsQuery } from "../../../api/models";

interface Props {
  project: string;
  model: string;
  value: string | null;
  onChange: (version: string | null) => void;
  /** One that makes no sense to choose. */
  except?: number;
}

/** A version of a model by its number, with its aliases. */
export function VersionSelect({ project, model, value, onChange, except }: Props) {
  const known = useQuery(newestVersionsQuery({ project, model })).data?.items ?? [];
  return (
    <Select
      label={`Version of ${model}`}
      data={known
        .filter((one) => one.version !== except)
        .map((one) => ({
          value: String(one.version),
          label: [`Version ${one.version}`, ...one.aliases].join(" · "),
        }))}
      value={value}
      onChange={onChange}
      nothingFoundMessage="No other versions."
      searchable
      required
      data-autofocus
    />
  );
}

import { Group, Select, Switch } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { computesQuery } from "../../../api/computes";
import type { JobFilter } from "../../../api/jobs";
import { Filter } from "../../../components/Filter";
import { ProjectSelect } from "../../../components/ProjectSelect";
import { JOB_KINDS, JOB_STATES } from "./states";

interface Props {
  filter: JobFilter;
  onChange: (part: JobFilter) => void;
}

/** Narrows the list of jobs; every choice is part of the address. */
export function JobFilters({ filter, onChange }: Props) {
  const computes = useQuery(computesQuery).data?.items.map((compute) => compute.name) ?? [];
  return (
    <Group mb="md">
      <Filter
        label="Name or id"
        value={filter.text ?? ""}
        onChange={(text) => onChange({ text: text.trim() || undefined })}
      />
      <Choice
        label="State"
        none="Any state"
        options={JOB_STATES}
        value={filter.state}
        onChange={(state) => onChange({ state })}
      />
      <Choice
        label="Kind"
        none="Any kind"
        options={JOB_KINDS}
        value={filter.kind}
        onChange={(kind) => onChange({ kind })}
      />
      <Choice
        label="Compute"
        none="Any compute"
        options={computes}
        value={filter.compute}
        onChange={(compute) => onChange({ compute })}
      />
      <ProjectSelect value={filter.project} onChange={(project) => onChange({ project })} />
      <Switch
        label="Mine"
        checked={!!filter.mine}
        onChange={(event) => onChange({ mine: event.currentTarget.checked || undefined, user: undefined })}
      />
      <Switch
        label="Bin"
        checked={!!filter.deleted}
        onChange={(event) => onChange({ deleted: event.currentTarget.checked || undefined })}
      />
      {filter.user && (
        <Choice
          label="User"
          none="Any user"
          options={[filter.user]}
          value={filter.user}
          onChange={(user) => onChange({ user })}
        />
      )}
    </Group>
  );
}

interface ChoiceProps<Option extends string> {
  label: string;
  none: string;
  options: readonly Option[];
  value: Option | undefined;
  onChange: (value: Option | undefined) => void;
}

function Choice<Option extends string>({ label, none, options, value, onChange }: ChoiceProps<Option>) {
  return (
    <Select
      aria-label={label}
      placeholder={none}
      data={[...options]}
      value={value ?? null}
      onChange={(chosen) => onChange((chosen as Option | null) ?? undefined)}
      clearable
      clearButtonProps={{ "aria-label": none }}
      w={150}
    />
  );
}

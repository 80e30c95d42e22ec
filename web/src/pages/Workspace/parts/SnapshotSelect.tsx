import { Select } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import type { Workspace } from "../../../api/shapes";
import { snapshotsQuery } from "../../../api/workspaces";

/** The kept snapshots of a workspace, the newest first. */
export function useKeptSnapshots(workspace: Workspace) {
  const place = { project: workspace.project, workspace: workspace.name };
  const result = useQuery(snapshotsQuery(place));
  return { result, kept: (result.data?.items ?? []).filter((one) => one.commit !== null) };
}

interface Props {
  label: string;
  names: string[];
  value: string | undefined;
  onChange: (name: string) => void;
}

export function SnapshotSelect({ label, names, value, onChange }: Props) {
  return (
    <Select
      label={label}
      // Snapshots of runs have long names.
      w={{ base: "100%", xs: 400 }}
      data={names}
      value={value ?? null}
      allowDeselect={false}
      searchable
      onChange={(name) => name && onChange(name)}
    />
  );
}

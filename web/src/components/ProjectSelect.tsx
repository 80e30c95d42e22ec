import { Select } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { projectsQuery } from "../api/projects";

interface Props {
  value: string | undefined;
  onChange: (project: string | undefined) => void;
}

/** Narrows a list to one of the viewer's projects; not shown to those who have only one. */
export function ProjectSelect({ value, onChange }: Props) {
  const projects = useQuery(projectsQuery).data?.items.map((project) => project.name) ?? [];
  if (projects.length < 2 && !value) return null;
  return (
    <Select
      aria-label="Project"
      placeholder="All projects"
      data={projects}
      value={value ?? null}
      onChange={(project) => onChange(project ?? undefined)}
      clearable
      searchable
      clearButtonProps={{ "aria-label": "All projects" }}
      w={200}
    />
  );
}

import { type MantineSize, Select } from "@mantine/core";
import { IconFolders } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";
import { useLocation, useNavigate } from "@tanstack/react-router";
import { useEffect } from "react";
import { projectsQuery } from "../../api/projects";
import { chooseProject, useChosenProject } from "../../hooks/useProject";
import { isNarrowed } from "./narrowed";

/** How many are found at a glance; a longer list can be searched. */
const AT_A_GLANCE = 8;
const ALL = "";

interface Props {
  visibleFrom?: MantineSize;
  hiddenFrom?: MantineSize;
}

/** Chooses the project that lists show; not shown to those who have only one. */
export function ProjectSwitch(seen: Props) {
  const names = useQuery(projectsQuery).data?.items.map((project) => project.name) ?? [];
  const { pathname, search } = useLocation();
  const inAddress = isNarrowed(pathname) ? search.project : undefined;
  const chosen = useChosenProject();
  const go = useShowProject();
  // An address that names a project chooses it: the next list shows the same one.
  useEffect(() => {
    if (inAddress) chooseProject(inAddress);
  }, [inAddress]);
  const value = inAddress ?? chosen ?? ALL;
  if (names.length < 2 && value === ALL) return null;
  return (
    <Select
      {...seen}
      aria-label="Project"
      data={[{ value: ALL, label: "All projects" }, ...names]}
      value={value}
      onChange={(name) => go(name || undefined)}
      allowDeselect={false}
      searchable={names.length > AT_A_GLANCE}
      leftSection={<IconFolders size={16} aria-hidden />}
      size="sm"
      w={seen.visibleFrom && 200}
    />
  );
}

/** Narrows the list that is open; a project's page gives way to that of the other. */
function useShowProject() {
  const navigate = useNavigate();
  const { pathname } = useLocation();
  return (project: string | undefined) => {
    chooseProject(project);
    if (isNarrowed(pathname)) {
      void navigate({ to: pathname, search: (before: object) => ({ ...before, project, page: undefined }) });
    } else if (/^\/projects\/[^/]+$/.test(pathname)) {
      if (project) void navigate({ to: "/projects/$project", params: { project } });
      else void navigate({ to: "/projects" });
    }
  };
}

import { Button, Paper, Stack, Text } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { IconFolders, IconPlus } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";
import { createColumnHelper } from "@tanstack/react-table";
import { projectsQuery } from "../../api/projects";
import { useSession } from "../../api/session";
import type { Project } from "../../api/shapes";
import { CommandLine } from "../../components/Copyable";
import { DataTable } from "../../components/DataTable";
import { EmptyState } from "../../components/EmptyState";
import { Loaded } from "../../components/Loaded";
import { PageHeader } from "../../components/PageHeader";
import { TextLink } from "../../components/TextLink";
import { Time } from "../../components/Time";
import { writeLabels } from "../../lib/labels";
import { plural } from "../../lib/quantity";
import { EditProject } from "./parts/EditProject";
import { NewProject } from "./parts/NewProject";

const column = createColumnHelper<Project>();

const COLUMNS = [
  column.accessor("name", { header: "Project", cell: ({ row }) => <Name project={row.original} /> }),
  column.accessor("role", { header: "Your role" }),
  column.accessor("quota", { header: "Quota" }),
  column.accessor("weight", { header: "Weight" }),
  column.accessor((project) => project.limit ?? Number.POSITIVE_INFINITY, {
    id: "limit",
    header: "Limit",
    cell: ({ row }) => row.original.limit ?? "none",
  }),
  column.accessor("over_quota", {
    header: "Over-quota",
    cell: ({ getValue }) => (getValue() ? "yes" : "no"),
  }),
  column.accessor("share", { header: "Share" }),
  column.accessor("allocated", { header: "Allocated" }),
  column.accessor("pending_gpus", {
    header: "Pending",
    cell: ({ row }) => <Pending project={row.original} />,
  }),
  column.accessor((project) => labels(project.train_affinity), { id: "training", header: "Training nodes" }),
  column.accessor((project) => labels(project.interactive_affinity), {
    id: "interactive",
    header: "Interactive nodes",
  }),
  column.accessor("created_at", { header: "Created", cell: ({ getValue }) => <Time at={getValue()} /> }),
  column.display({
    id: "actions",
    header: "Actions",
    cell: ({ row }) => <EditProject project={row.original} size="compact-sm" />,
  }),
];

export function ProjectList() {
  const isAdmin = useSession()?.user.is_admin ?? false;
  // What runs and waits changes what is shown.
  const result = useQuery({ ...projectsQuery, refetchInterval: 10_000 });
  const [creating, dialog] = useDisclosure(false);
  const create = isAdmin && (
    <Button leftSection={<IconPlus size={16} aria-hidden />} onClick={dialog.open}>
      New project
    </Button>
  );
  return (
    <>
      <PageHeader
        title="Projects"
        below={<Text c="dimmed">Quota, weight, limit, share, allocated and pending are in GPUs.</Text>}
        actions={create}
      />
      <Loaded result={result}>
        {({ items }) =>
          items.length === 0 ? (
            <EmptyState
              icon={IconFolders}
              sentence="You are not in a project yet. Ask a site administrator to add you."
              action={create}
              command="mill project create NAME --quota 4"
            />
          ) : (
            <Stack>
              <Paper withBorder>
                <DataTable
                  label="Projects"
                  rows={items}
                  columns={isAdmin ? COLUMNS : COLUMNS.slice(0, -1)}
                  rowId={(project) => project.id}
                  minWidth={1150}
                />
              </Paper>
              <CommandLine command="mill project list" />
            </Stack>
          )
        }
      </Loaded>
      {creating && <NewProject onClose={dialog.close} />}
    </>
  );
}

function Name({ project }: { project: Project }) {
  return (
    <>
      <TextLink
        to="/projects/$project"
        params={{ project: project.name }}
        size="sm"
        fw={600}
        className="row-name"
      >
        {project.name}
      </TextLink>
      {project.description && (
        <Text size="xs" c="dimmed" lineClamp={2}>
          {project.description}
        </Text>
      )}
    </>
  );
}

function Pending({ project: { pending_gpus, pending_jobs } }: { project: Project }) {
  return (
    <span className="unbroken">
      {pending_jobs ? `${pending_gpus} in ${plural(pending_jobs, "job")}` : "0"}
    </span>
  );
}

function labels(affinity: Project["train_affinity"]): string {
  return writeLabels(affinity).join(", ") || "any";
}

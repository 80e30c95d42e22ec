import { Button, Group, Paper } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { IconPlug, IconPlus } from "@tabler/icons-react";
import { useInfiniteQuery } from "@tanstack/react-query";
import { createColumnHelper } from "@tanstack/react-table";
import { useMemo } from "react";
import { connectionsQuery } from "../../../api/connections";
import type { Connection, Project } from "../../../api/shapes";
import { DataTable } from "../../../components/DataTable";
import { BriefEmptyState, EmptyState } from "../../../components/EmptyState";
import { Paged } from "../../../components/Paged";
import { Time } from "../../../components/Time";
import { ConnectionActions } from "./ConnectionActions";
import { NewConnection } from "./NewConnection";

const column = createColumnHelper<Connection>();

const COLUMNS = [
  column.accessor("name", { header: "Connection" }),
  column.accessor("url", { header: "Leads to" }),
  column.accessor("endpoint", { header: "Endpoint", cell: ({ getValue }) => getValue() ?? "–" }),
  column.accessor("has_credentials", {
    header: "Credentials",
    cell: ({ getValue }) => (getValue() ? "sealed" : "none"),
  }),
  column.accessor("created_at", { header: "Added", cell: ({ getValue }) => <Time at={getValue()} /> }),
  column.accessor("created_by", { header: "By" }),
];

/** Places outside the lake. Their credentials are typed in here once and never shown again. */
export function Connections({ project, brief }: { project: Project; brief: boolean }) {
  const result = useInfiniteQuery(connectionsQuery(project.name));
  const [creating, dialog] = useDisclosure(false);
  const create = project.role === "admin" && (
    <Button leftSection={<IconPlus size={16} aria-hidden />} onClick={dialog.open}>
      New connection
    </Button>
  );
  const columns = useMemo(
    () => [
      ...COLUMNS,
      column.display({
        id: "actions",
        header: "Actions",
        cell: ({ row }) => <ConnectionActions connection={row.original} role={project.role} />,
      }),
    ],
    [project.role],
  );
  return (
    <>
      <Paged
        result={result}
        empty={
          brief ? (
            <BriefEmptyState words="No connections yet." action={create} />
          ) : (
            <EmptyState
              icon={IconPlug}
              sentence="No connections yet: an administrator of the project adds a bucket or site to import from, with credentials of its own."
              action={create}
              command="mill connection add NAME s3://bucket --key-id ID --secret-file FILE"
            />
          )
        }
      >
        {(connections) => (
          <>
            <Paper withBorder>
              <DataTable label="Connections" rows={connections} columns={columns} rowId={(one) => one.id} />
            </Paper>
            <Group>{create}</Group>
          </>
        )}
      </Paged>
      {creating && <NewConnection project={project.name} onClose={dialog.close} />}
    </>
  );
}

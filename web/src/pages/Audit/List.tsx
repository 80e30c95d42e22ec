import { Button, Code, Group, Menu, Paper, Stack, Text } from "@mantine/core";
import { IconDownload } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { createColumnHelper } from "@tanstack/react-table";
import { type AuditFilter, auditExport, auditPages } from "../../api/audit";
import { sessionQuery } from "../../api/session";
import type { AuditRecord } from "../../api/shapes";
import { DataTable } from "../../components/DataTable";
import { PageHeader } from "../../components/PageHeader";
import { Pages } from "../../components/Pages";
import { Time } from "../../components/Time";
import { Changes } from "./parts/Changes";
import { Filters } from "./parts/Filters";

const route = getRouteApi("/in/audit");

const column = createColumnHelper<AuditRecord>();

const COLUMNS = [
  column.accessor("at", { header: "When", cell: ({ getValue }) => <Time at={getValue()} /> }),
  column.accessor("actor", { header: "Who", cell: ({ row }) => <Who entry={row.original} /> }),
  column.accessor("action", { header: "What", cell: ({ getValue }) => <Code>{getValue()}</Code> }),
  column.accessor("subject", {
    header: "To what",
    cell: ({ row }) => (
      <>
        <span className="row-name">{row.original.subject}</span>
        {row.original.project && (
          <Text size="xs" c="dimmed">
            in {row.original.project}
          </Text>
        )}
      </>
    ),
  }),
  column.display({
    id: "changes",
    header: "Before → after",
    cell: ({ row }) => <Changes entry={row.original} />,
  }),
];

/** Who changed what, from where, newest first. */
export function AuditList() {
  const { page, ...asked } = route.useSearch();
  const navigate = route.useNavigate();
  const { data: session } = useQuery(sessionQuery);
  const administered =
    session?.projects.filter((one) => one.role === "admin").map((one) => one.project) ?? [];
  const isAdmin = session?.user.is_admin ?? false;
  // Whoever administers no site sees one of their projects.
  const filter = isAdmin ? asked : { ...asked, project: asked.project ?? administered[0] };
  const narrow = (change: AuditFilter) => navigate({ search: { ...asked, ...change }, replace: true });
  return (
    <>
      <PageHeader
        title="Audit"
        below={<Text c="dimmed">Who changed what, from where, newest first.</Text>}
        actions={<Export filter={filter} />}
      />
      <Stack>
        <Filters filter={filter} projects={administered} everything={isAdmin} onChange={narrow} />
        <Pages
          list={JSON.stringify(filter)}
          query={auditPages(filter)}
          page={page}
          onTurn={(number) => navigate({ search: { ...asked, page: number } })}
          empty={<Text>No entries found.</Text>}
        >
          {(records) => (
            <Paper withBorder>
              <DataTable
                label="Audit"
                rows={records}
                columns={COLUMNS}
                rowId={(record) => String(record.id)}
              />
            </Paper>
          )}
        </Pages>
      </Stack>
    </>
  );
}

function Export({ filter }: { filter: AuditFilter }) {
  return (
    <Menu>
      <Menu.Target>
        <Button variant="default" leftSection={<IconDownload size={16} aria-hidden />}>
          Export
        </Button>
      </Menu.Target>
      <Menu.Dropdown>
        <Menu.Item component="a" href={auditExport(filter, "jsonl")} download="audit.jsonl">
          JSON lines
        </Menu.Item>
        <Menu.Item component="a" href={auditExport(filter, "syslog")} download="audit.log">
          Syslog (RFC 5424)
        </Menu.Item>
      </Menu.Dropdown>
    </Menu>
  );
}

/** Who, and under it from where and with what. */
function Who({ entry }: { entry: AuditRecord }) {
  return (
    <>
      {entry.actor}
      {(entry.address || entry.via) && (
        <Group gap={6} wrap="wrap">
          <Text size="xs" c="dimmed" className="row-name">
            {[entry.address, entry.via].filter(Boolean).join(", ")}
          </Text>
        </Group>
      )}
    </>
  );
}

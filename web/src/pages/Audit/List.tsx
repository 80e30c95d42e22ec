import { Code, Paper, Text } from "@mantine/core";
import { getRouteApi } from "@tanstack/react-router";
import { createColumnHelper } from "@tanstack/react-table";
import type { AuditRecord } from "../../api/shapes";
import { auditPages } from "../../api/users";
import { DataTable } from "../../components/DataTable";
import { PageHeader } from "../../components/PageHeader";
import { Pages } from "../../components/Pages";
import { Time } from "../../components/Time";
import { shortId } from "../../lib/names";

const route = getRouteApi("/in/audit");

const column = createColumnHelper<AuditRecord>();

const COLUMNS = [
  column.accessor("at", { header: "When", cell: ({ getValue }) => <Time at={getValue()} /> }),
  column.accessor("actor", { header: "Who" }),
  column.accessor("action", { header: "What", cell: ({ getValue }) => <Code>{getValue()}</Code> }),
  column.accessor("subject", {
    header: "To what",
    cell: ({ getValue }) => <span className="row-name">{getValue()}</span>,
  }),
  column.accessor("project", {
    header: "Project",
    cell: ({ getValue }) => <span className="unbroken">{getValue() ?? "–"}</span>,
  }),
  column.accessor("details", {
    header: "Details",
    enableSorting: false,
    cell: ({ getValue }) => <span className="row-name">{words(getValue())}</span>,
  }),
];

/** Who changed what, newest first. */
export function AuditList() {
  const { page } = route.useSearch();
  const navigate = route.useNavigate();
  return (
    <>
      <PageHeader title="Audit" below={<Text c="dimmed">Who changed what, newest first.</Text>} />
      <Pages
        list="audit"
        query={auditPages}
        page={page}
        onTurn={(number) => navigate({ search: { page: number } })}
        empty={<Text>No changes recorded yet.</Text>}
      >
        {(records) => (
          <Paper withBorder>
            <DataTable label="Audit" rows={records} columns={COLUMNS} rowId={(record) => String(record.id)} />
          </Paper>
        )}
      </Pages>
    </>
  );
}

const DIGEST = /^[0-9a-f]{64}$/;

function words(details: Record<string, unknown>): string {
  return Object.entries(details)
    .map(([name, value]) => `${name}: ${typeof value === "string" ? briefly(value) : JSON.stringify(value)}`)
    .join(", ");
}

function briefly(value: string): string {
  return DIGEST.test(value) ? shortId(value) : value;
}

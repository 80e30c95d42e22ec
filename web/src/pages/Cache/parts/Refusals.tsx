import { Box, Paper, Title } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { createColumnHelper } from "@tanstack/react-table";
import { refusalsQuery } from "../../../api/cachePlans";
import type { Refused } from "../../../api/shapes";
import { CommandLine } from "../../../components/Copyable";
import { DataTable } from "../../../components/DataTable";
import { Time } from "../../../components/Time";
import { shellQuote, shortId } from "../../../lib/names";

const column = createColumnHelper<Refused>();

const COLUMNS = [
  column.accessor("at", { header: "When", cell: ({ getValue }) => <Time at={getValue()} /> }),
  column.accessor("dataset", { header: "Dataset" }),
  column.accessor("commit_id", {
    header: "Commit",
    cell: ({ getValue }) => <span className="mono">{shortId(getValue())}</span>,
  }),
  column.accessor("volume", { header: "Volume" }),
  column.accessor("by", { header: "Asked by" }),
  column.accessor("reason", { header: "Reason" }),
];

/** What did not fit, of one volume or of all, as long as it is not there. Not shown as long as nothing was refused. */
export function Refusals({ volume }: { volume?: string }) {
  const refused = useQuery(refusalsQuery(volume)).data?.items ?? [];
  if (refused.length === 0) return null;
  return (
    <section>
      <Title order={2} size="h4" mb="xs">
        Refused
      </Title>
      <Paper withBorder>
        <DataTable
          label="Refused"
          rows={refused}
          columns={COLUMNS}
          rowId={(row) => `${row.volume} ${row.commit_id}`}
        />
      </Paper>
      <Box mt="md">
        <CommandLine command={`mill cache refusals${volume ? ` --on ${shellQuote(volume)}` : ""}`} />
      </Box>
    </section>
  );
}

import { Box, Paper, Title } from "@mantine/core";
import { useInfiniteQuery } from "@tanstack/react-query";
import { createColumnHelper } from "@tanstack/react-table";
import { evictionsQuery } from "../../../api/caches";
import type { Eviction } from "../../../api/shapes";
import { CommandLine } from "../../../components/Copyable";
import { DataTable } from "../../../components/DataTable";
import { Paged } from "../../../components/Paged";
import { Time } from "../../../components/Time";
import { shellQuote, shortId } from "../../../lib/names";
import { formatBytes } from "../../../lib/quantity";

const column = createColumnHelper<Eviction>();

const COLUMNS = [
  column.accessor("at", { header: "When", cell: ({ getValue }) => <Time at={getValue()} /> }),
  column.accessor("dataset", { header: "Dataset" }),
  column.accessor("commit_id", {
    header: "Commit",
    cell: ({ getValue }) => <span className="mono">{shortId(getValue())}</span>,
  }),
  column.accessor("volume", { header: "Volume" }),
  column.accessor("bytes", { header: "Freed on disk", cell: ({ getValue }) => formatBytes(getValue()) }),
  column.accessor("reason", { header: "Reason" }),
];

/** What went lately, of one volume or of all, and why. Not shown as long as nothing went. */
export function Evictions({ volume }: { volume?: string }) {
  const result = useInfiniteQuery(evictionsQuery(volume));
  if (result.isSuccess && result.data.pages[0]?.items.length === 0) return null;
  return (
    <section>
      <Title order={2} size="h4" mb="xs">
        Recent evictions
      </Title>
      <Paged result={result} empty={null}>
        {(evictions) => (
          <Paper withBorder>
            <DataTable
              label="Recent evictions"
              rows={evictions}
              columns={COLUMNS}
              rowId={(row) => `${row.at} ${row.volume} ${row.commit_id}`}
            />
          </Paper>
        )}
      </Paged>
      <Box mt="md">
        <CommandLine command={`mill cache evictions${volume ? ` --on ${shellQuote(volume)}` : ""}`} />
      </Box>
    </section>
  );
}

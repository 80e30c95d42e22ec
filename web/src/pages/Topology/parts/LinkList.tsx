import { Group, Paper, Text, Title } from "@mantine/core";
import { createColumnHelper } from "@tanstack/react-table";
import type { Link } from "../../../api/shapes";
import { DataTable } from "../../../components/DataTable";
import { Time } from "../../../components/Time";
import { formatBandwidth, formatRate } from "../../../lib/quantity";
import { LimitButton } from "./LimitForm";
import { LinkActions } from "./LinkForms";

const column = createColumnHelper<Link>();

const COLUMNS = [
  column.display({ id: "ends", header: "Between", cell: ({ row }) => endsOf(row.original) }),
  column.accessor("bits_per_second", {
    header: "Declared",
    cell: ({ getValue }) => said(getValue(), formatBandwidth),
  }),
  column.accessor("latency_ms", {
    header: "Latency",
    cell: ({ getValue }) => said(getValue(), (value) => `${value} ms`),
  }),
  column.accessor("price_per_gb", {
    header: "Price per GB",
    cell: ({ getValue }) => said(getValue(), String),
  }),
  column.accessor("limit", {
    header: "Limit",
    cell: ({ row }) => <LimitWords limit={row.original.limit} />,
  }),
  column.accessor("measured_bytes_per_second", {
    header: "Measured",
    cell: ({ row }) => <Measured link={row.original} />,
  }),
  column.accessor("near", {
    header: "Near",
    cell: ({ row }) => (
      <Text size="sm" maw={320}>
        {row.original.near ? "yes" : "no"}: {row.original.reason}
      </Text>
    ),
  }),
  column.display({
    id: "actions",
    header: "Actions",
    cell: ({ row }) => (
      <Group gap="xs" wrap="nowrap">
        <LinkActions link={row.original} />
        <LimitButton of={endsOfLimit(row.original)} limit={row.original.limit} />
      </Group>
    ),
  }),
];

/** What people said of the ways, and what fills over them brought. */
export function LinkList({ links }: { links: Link[] }) {
  return (
    <section>
      <Title order={2} size="h4" mb="xs">
        Links
      </Title>
      {links.length === 0 ? (
        <Group>
          <Text size="sm">No links yet. Fills measure bandwidth; set the rest with mill link set.</Text>
        </Group>
      ) : (
        <Paper withBorder>
          <DataTable label="Links" rows={links} columns={COLUMNS} rowId={({ a, b }) => `${a} ${b}`} />
        </Paper>
      )}
    </section>
  );
}

function LimitWords({ limit }: { limit: Link["limit"] }) {
  if (!limit) return <>–</>;
  return (
    <Text size="sm" miw={160} maw={260}>
      {limit.text}
      {limit.windows.length > 1 || limit.until ? ` (now ${limit.in_force})` : ""}
    </Text>
  );
}

function endsOfLimit({ a, b }: Link) {
  return { a, b };
}

function Measured({ link }: { link: Link }) {
  if (link.measured_bytes_per_second == null) return <>–</>;
  return (
    <>
      {formatRate(link.measured_bytes_per_second)}{" "}
      <Text size="xs" c="dimmed" component="div">
        <Time at={link.measured_at} />
      </Text>
    </>
  );
}

function endsOf({ a, b }: Link): string {
  return `${a} – ${b}`;
}

function said<Value>(value: Value | null, words: (value: Value) => string): string {
  return value === null ? "–" : words(value);
}

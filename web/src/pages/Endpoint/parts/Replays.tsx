import { Button, Stack, Text } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { IconRepeat } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";
import { createColumnHelper } from "@tanstack/react-table";
import { replaysQuery } from "../../../api/endpoints";
import { useMay } from "../../../api/session";
import type { Endpoint, Replay } from "../../../api/shapes";
import { CommandLine } from "../../../components/Copyable";
import { DataTable } from "../../../components/DataTable";
import { EmptyState } from "../../../components/EmptyState";
import { JobLink } from "../../../components/JobLink";
import { Loaded } from "../../../components/Loaded";
import { Section } from "../../../components/Section";
import { Status } from "../../../components/Status";
import { TextLink } from "../../../components/TextLink";
import { Time } from "../../../components/Time";
import { formatNumber } from "../../../lib/metric";
import { ReplayForm } from "./ReplayForm";
import { agreementOf, statusOf } from "./replay";

const helper = createColumnHelper<Replay & { project: string }>();
const COLUMNS = [
  helper.accessor("model", { header: "Version" }),
  helper.accessor("state", {
    header: "State",
    cell: ({ row }) => (
      <>
        <Status state={statusOf(row.original)} />
        {row.original.error && <Text size="xs">{row.original.error}</Text>}
      </>
    ),
  }),
  helper.accessor("agreement", { header: "Same answers", cell: ({ row }) => agreementOf(row.original) }),
  helper.accessor("largest_difference", {
    header: "Largest difference",
    cell: ({ row }) => (row.original.samples > 0 ? formatNumber(row.original.largest_difference) : "–"),
  }),
  helper.accessor("requests", {
    header: "Requests",
    cell: ({ row }) => <Requests replay={row.original} />,
  }),
  helper.accessor("ms", {
    header: "Median, now and then",
    cell: ({ row: { original: one } }) =>
      one.ms === null ? "–" : `${formatNumber(one.ms)} ms, ${formatNumber(one.logged_ms)} ms`,
  }),
  helper.accessor("created_at", { header: "Started", cell: ({ getValue }) => <Time at={getValue()} /> }),
  helper.display({ id: "links", header: "Kept as", cell: ({ row }) => <Links replay={row.original} /> }),
];

/** Logged requests asked again of versions: would they have got the same answers? */
export function Replays({ endpoint }: { endpoint: Endpoint }) {
  const may = useMay(endpoint.project, "member");
  const [opened, form] = useDisclosure(false);
  const result = useQuery(replaysQuery({ project: endpoint.project, endpoint: endpoint.name }));
  const button = may && (
    <Button size="xs" onClick={form.open}>
      Replay on a version
    </Button>
  );
  return (
    <Stack>
      <Loaded result={result}>
        {({ items }) =>
          items.length === 0 ? (
            <EmptyState
              icon={IconRepeat}
              sentence="No requests were replayed yet. A job loads a candidate, asks it logged requests again and compares its answers with those given, before it serves anybody."
              action={button}
            />
          ) : (
            <Section title="Replays" actions={button}>
              <DataTable
                label="Replays"
                rows={items.map((one) => ({ ...one, project: endpoint.project }))}
                columns={COLUMNS}
                rowId={(row) => row.id}
                minWidth={980}
              />
            </Section>
          )
        }
      </Loaded>
      <CommandLine command={`mill endpoint replay ${endpoint.name} --on MODEL@VERSION`} />
      {opened && <ReplayForm endpoint={endpoint} onClose={form.close} />}
    </Stack>
  );
}

function Requests({ replay }: { replay: Replay }) {
  const { requests, of, failed, failure, skipped, different } = replay;
  return (
    <>
      {requests.toLocaleString("en")} of {of.toLocaleString("en")}
      {failed > 0 && (
        <Text size="xs">
          {failed} failed: {failure}
        </Text>
      )}
      {skipped > 0 && <Text size="xs">{skipped} not logged whole</Text>}
      {different.length > 0 && (
        <Text size="xs" c="dimmed" style={{ overflowWrap: "anywhere" }}>
          Other answers: {different.slice(0, 3).join(", ")}
          {different.length > 3 && " …"}
        </Text>
      )}
    </>
  );
}

function Links({ replay: { project, run, job, state } }: { replay: Replay & { project: string } }) {
  if (run && state === "done") {
    return (
      <TextLink to="/projects/$project/runs/$run" params={{ project, run }} size="sm">
        run {run}
      </TextLink>
    );
  }
  return job ? (
    <JobLink project={project} job={job}>
      job {job}
    </JobLink>
  ) : (
    "–"
  );
}

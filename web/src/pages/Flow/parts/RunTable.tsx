import { Button, Checkbox, Group, Paper, Stack, Text } from "@mantine/core";
import { IconArrowsDiff } from "@tabler/icons-react";
import { Link } from "@tanstack/react-router";
import { createColumnHelper } from "@tanstack/react-table";
import { useState } from "react";
import type { FlowRunSummary } from "../../../api/shapes";
import { DataTable } from "../../../components/DataTable";
import { Duration } from "../../../components/Duration";
import { BriefEmptyState } from "../../../components/EmptyState";
import { Status } from "../../../components/Status";
import { TextLink } from "../../../components/TextLink";
import { Time } from "../../../components/Time";
import { startedBy } from "./startedBy";

const column = createColumnHelper<FlowRunSummary>();

interface Props {
  project: string;
  flow: string;
  runs: FlowRunSummary[];
}

export function RunTable({ project, flow, runs }: Props) {
  const [chosen, setChosen] = useState<readonly string[]>([]);
  if (runs.length === 0) return <BriefEmptyState words="No runs yet. Start one with the Run button." />;
  // The two that were chosen last.
  const toggle = (id: string) =>
    setChosen((before) =>
      before.includes(id) ? before.filter((one) => one !== id) : [...before, id].slice(-2),
    );
  const columns = [
    column.display({
      id: "chosen",
      header: "",
      cell: ({ row }) => (
        <Checkbox
          size="xs"
          aria-label={`Compare #${row.original.number}`}
          checked={chosen.includes(row.original.id)}
          onChange={() => toggle(row.original.id)}
        />
      ),
    }),
    column.accessor("number", {
      header: "Run",
      cell: ({ row }) => (
        <TextLink
          to="/projects/$project/flow-runs/$run"
          params={{ project, run: row.original.id }}
          size="sm"
          fw={600}
        >
          #{row.original.number}
        </TextLink>
      ),
    }),
    column.accessor("state", {
      header: "State",
      cell: ({ getValue }) => <Status state={getValue() as never} />,
    }),
    column.accessor("version", { header: "Version" }),
    column.accessor((run) => run.trigger.type, {
      id: "trigger",
      header: "Started by",
      cell: ({ row }) => startedBy(row.original),
    }),
    column.accessor("created_at", { header: "Started", cell: ({ getValue }) => <Time at={getValue()} /> }),
    column.accessor((run) => run.ended_at ?? "", {
      id: "duration",
      header: "Duration",
      cell: ({ row }) => <Duration start={row.original.started_at} end={row.original.ended_at} />,
    }),
    column.accessor("reason", { header: "Reason" }),
  ];
  const inOrder = runs.filter((run) => chosen.includes(run.id)).reverse();
  return (
    <Stack gap="xs">
      <Group gap="xs">
        <Button
          size="xs"
          variant="default"
          leftSection={<IconArrowsDiff size={14} />}
          disabled={inOrder.length !== 2}
          renderRoot={(rest) => (
            <Link
              {...rest}
              to="/projects/$project/flows/$flow/compare"
              params={{ project, flow }}
              search={{ a: inOrder[0]?.id, b: inOrder[1]?.id }}
            />
          )}
        >
          {inOrder.length === 2 ? `Compare #${inOrder[0]?.number} and #${inOrder[1]?.number}` : "Compare"}
        </Button>
        {inOrder.length < 2 && (
          <Text size="sm" c="dimmed">
            Choose two runs to compare them.
          </Text>
        )}
      </Group>
      <Paper withBorder>
        <DataTable
          label="Runs of the flow"
          rows={runs}
          columns={columns}
          rowId={(run) => run.id}
          minWidth={720}
        />
      </Paper>
    </Stack>
  );
}

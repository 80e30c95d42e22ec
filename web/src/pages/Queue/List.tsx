import { Group, Paper, Stack, Text } from "@mantine/core";
import { IconListNumbers } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";
import { createColumnHelper } from "@tanstack/react-table";
import { queuesQuery } from "../../api/queues";
import { useSession } from "../../api/session";
import type { Queue } from "../../api/shapes";
import { CommandLine } from "../../components/Copyable";
import { DataTable } from "../../components/DataTable";
import { EmptyState } from "../../components/EmptyState";
import { Loaded } from "../../components/Loaded";
import { PageHeader } from "../../components/PageHeader";
import { TextLink } from "../../components/TextLink";
import { Time } from "../../components/Time";
import { formatSeconds } from "../../lib/quantity";
import { NewQueueButton, QueueActions } from "./parts/QueueActions";

const column = createColumnHelper<Queue>();

const COLUMNS = [
  column.accessor("name", { header: "Queue", cell: ({ row }) => <Name queue={row.original} /> }),
  column.display({ id: "templates", header: "Templates", cell: ({ row }) => <Order queue={row.original} /> }),
  column.accessor("changed_at", {
    header: "Changed",
    cell: ({ row }) => (
      <>
        <Time at={row.original.changed_at} /> by {row.original.changed_by}
      </>
    ),
  }),
  column.display({
    id: "actions",
    header: "Actions",
    cell: ({ row }) => <QueueActions queue={row.original} />,
  }),
];

export function QueueList() {
  const result = useQuery(queuesQuery);
  const isAdmin = useSession()?.user.is_admin ?? false;
  return (
    <>
      <PageHeader
        title="Queues"
        below={
          <Text c="dimmed">
            Templates that a job tries in turn: if the first cannot be had in time, the job bursts to the
            next.{" "}
            <TextLink to="/shares" underline="always" inherit>
              Waiting jobs
            </TextLink>{" "}
            are listed with the shares.
          </Text>
        }
        actions={<NewQueueButton />}
      />
      <Loaded result={result}>
        {({ items }) =>
          items.length === 0 ? (
            <EmptyState
              docs="templates/"
              icon={IconListNumbers}
              sentence="No queues yet. A queue lists templates in the order a job tries them."
              action={<NewQueueButton />}
              command="mill queue create burst gpu-real:10m cloud"
            />
          ) : (
            <Stack>
              <Paper withBorder>
                <DataTable
                  label="Queues"
                  rows={items}
                  columns={isAdmin ? COLUMNS : COLUMNS.slice(0, -1)}
                  rowId={(queue) => queue.name}
                />
              </Paper>
              <CommandLine command="mill queue list" />
            </Stack>
          )
        }
      </Loaded>
    </>
  );
}

function Name({ queue }: { queue: Queue }) {
  return (
    <>
      <Text size="sm" fw={600} className="row-name">
        {queue.name}
      </Text>
      {queue.description && (
        <Text size="xs" c="dimmed" lineClamp={2}>
          {queue.description}
        </Text>
      )}
    </>
  );
}

function Order({ queue }: { queue: Queue }) {
  return (
    <Group component="ol" gap="xs" m={0} p={0} style={{ listStyle: "none" }}>
      {queue.templates.map(({ template, patience_seconds }, index) => (
        <Text key={template} component="li" size="sm">
          {index > 0 && "→ "}
          {template}
          {patience_seconds > 0 && (
            <Text span size="xs" c="dimmed">
              {" "}
              wait {formatSeconds(patience_seconds)}
            </Text>
          )}
        </Text>
      ))}
    </Group>
  );
}

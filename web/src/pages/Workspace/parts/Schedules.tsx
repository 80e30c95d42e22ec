import { Button, Group, Paper, Select, Stack, Table, Text, TextInput } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import type { SnapshotSchedule, Workspace } from "../../../api/shapes";
import { schedulesQuery, useDeleteSchedule, usePutSchedule } from "../../../api/workspaces";
import { ErrorNotice } from "../../../components/ErrorNotice";
import { Loaded } from "../../../components/Loaded";
import { notifyError } from "../../../components/notify";
import { Section } from "../../../components/Section";
import { Time } from "../../../components/Time";
import { formatSeconds } from "../../../lib/quantity";

const EVERY = [
  { label: "Every hour", value: "3600" },
  { label: "Every day", value: "86400" },
  { label: "Every week", value: "604800" },
];

/** Series of snapshots that are taken by themselves, and how many of each are kept. */
export function Schedules({ workspace, may }: { workspace: Workspace; may: boolean }) {
  const place = { project: workspace.project, workspace: workspace.name };
  const result = useQuery(schedulesQuery(place));
  return (
    <Section title="Snapshot schedules" bare>
      <Loaded result={result}>
        {({ items }) => (
          <Stack>
            {items.length === 0 ? (
              <Text c="dimmed" size="sm">
                Snapshots are taken when somebody asks.
              </Text>
            ) : (
              <ScheduleTable workspace={workspace} schedules={items} may={may} />
            )}
            {may && <NewSchedule workspace={workspace} />}
          </Stack>
        )}
      </Loaded>
    </Section>
  );
}

interface TableProps {
  workspace: Workspace;
  schedules: SnapshotSchedule[];
  may: boolean;
}

function ScheduleTable({ workspace, schedules, may }: TableProps) {
  const remove = useDeleteSchedule({ project: workspace.project, workspace: workspace.name });
  return (
    <Paper withBorder>
      <Table.ScrollContainer
        minWidth={480}
        scrollAreaProps={{ viewportProps: { tabIndex: 0, "aria-label": "Snapshot schedules" } }}
      >
        <Table aria-label="Snapshot schedules">
          <Table.Thead>
            <Table.Tr>
              <Table.Th>Series</Table.Th>
              <Table.Th>When</Table.Th>
              <Table.Th>Keeps</Table.Th>
              <Table.Th>Next</Table.Th>
              <Table.Th />
            </Table.Tr>
          </Table.Thead>
          <Table.Tbody>
            {schedules.map((one) => (
              <Table.Tr key={one.series}>
                <Table.Td>{one.series}</Table.Td>
                <Table.Td>
                  {one.cron ? `${one.cron} (${one.timezone})` : `every ${formatSeconds(one.every_seconds)}`}
                  {one.problem && (
                    <Text size="xs" c="orange.9">
                      {one.problem}
                    </Text>
                  )}
                </Table.Td>
                <Table.Td>{one.keep || "all"}</Table.Td>
                <Table.Td>
                  <Time at={one.next_at} />
                </Table.Td>
                <Table.Td ta="right">
                  {may && (
                    <Button
                      size="compact-xs"
                      variant="subtle"
                      color="red.9"
                      onClick={() => remove.mutate(one.series, { onError: notifyError })}
                      aria-label={`Remove the schedule ${one.series}`}
                    >
                      Remove
                    </Button>
                  )}
                </Table.Td>
              </Table.Tr>
            ))}
          </Table.Tbody>
        </Table>
      </Table.ScrollContainer>
    </Paper>
  );
}

function NewSchedule({ workspace }: { workspace: Workspace }) {
  const put = usePutSchedule({ project: workspace.project, workspace: workspace.name });
  const [series, setSeries] = useState("daily");
  const [every, setEvery] = useState("86400");
  const [keep, setKeep] = useState("7");
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        put.mutate({
          series,
          every_seconds: Number(every),
          cron: "",
          timezone: "UTC",
          keep: keep.trim() || null,
        });
      }}
    >
      <Group align="flex-end" gap="sm">
        <TextInput
          label="Series"
          value={series}
          onChange={(event) => setSeries(event.currentTarget.value)}
          required
          w={130}
        />
        <Select
          label="When"
          data={EVERY}
          value={every}
          allowDeselect={false}
          onChange={(value) => setEvery(value ?? "86400")}
          w={150}
        />
        <TextInput
          label="Keep"
          placeholder="7 or 30d"
          value={keep}
          onChange={(event) => setKeep(event.currentTarget.value)}
          w={110}
        />
        <Button type="submit" variant="default" loading={put.isPending}>
          Add
        </Button>
      </Group>
      {put.error && <ErrorNotice error={put.error} />}
    </form>
  );
}

import { Button, Group, Modal, Stack, Table, Text, TextInput } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { runSnapshotsQuery, useRestoreRun } from "../../../api/runs";
import type { Job, RunSnapshot } from "../../../api/shapes";
import { ErrorNotice } from "../../../components/ErrorNotice";
import { Loaded } from "../../../components/Loaded";
import { notifyDone } from "../../../components/notify";
import { Section } from "../../../components/Section";
import { Time } from "../../../components/Time";
import { WaitingRows } from "../../../components/Waiting";
import { formatBytes } from "../../../lib/quantity";
import { isFinished } from "../../Job/parts/states";

/** States of the job's workspaces that belong to its run. Nothing for a job that takes none. */
export function RunSnapshots({ job }: { job: Job }) {
  const place = { project: job.project, run: job.run_id };
  const wanted = job.snapshots != null;
  const result = useQuery({
    ...runSnapshotsQuery(place),
    enabled: wanted,
    // The last one is taken and kept when the job has ended.
    refetchInterval: isFinished(job.state) ? 10_000 : 5_000,
  });
  const [restoring, modal] = useDisclosure(false);
  if (!wanted) return null;
  const start = result.data?.items.find((one) => one.moment === "start");
  return (
    <Section
      title="Snapshots"
      actions={
        <Button size="compact-sm" variant="default" disabled={!start} onClick={modal.open}>
          Restore the start
        </Button>
      }
    >
      <Loaded result={result} waiting={<WaitingRows rows={2} />}>
        {({ items }) =>
          items.length === 0 ? (
            <Text size="sm" c="dimmed" p="md">
              No snapshots yet. The first one is taken before the command starts.
            </Text>
          ) : (
            <SnapshotTable items={items} />
          )
        }
      </Loaded>
      {restoring && start && <Restore job={job} start={start} onClose={modal.close} />}
    </Section>
  );
}

function SnapshotTable({ items }: { items: RunSnapshot[] }) {
  return (
    <Table.ScrollContainer minWidth={460}>
      <Table aria-label="Snapshots" fz="sm">
        <Table.Tbody>
          {items.map((one) => (
            <Table.Tr key={`${one.workspace} ${one.number}`}>
              <Table.Td>{one.moment || "by hand"}</Table.Td>
              <Table.Td className="mono" style={{ overflowWrap: "anywhere" }}>
                {one.workspace}@{one.name}
              </Table.Td>
              <Table.Td>
                {one.state}
                {one.problem && (
                  <Text size="xs" c="red">
                    {one.problem}
                  </Text>
                )}
              </Table.Td>
              <Table.Td>
                <Time at={one.taken_at} />
              </Table.Td>
              <Table.Td>{formatBytes(one.bytes)}</Table.Td>
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </Table.ScrollContainer>
  );
}

function Restore({ job, start, onClose }: { job: Job; start: RunSnapshot; onClose: () => void }) {
  const restore = useRestoreRun({ project: job.project, run: job.run_id });
  const [name, setName] = useState(`${start.workspace}-again`);
  const save = (event: React.FormEvent) => {
    event.preventDefault();
    const done = () => {
      notifyDone(`Workspace ${name.trim()} is being created.`);
      onClose();
    };
    restore.mutate({ into: name.trim(), workspace: start.workspace }, { onSuccess: done });
  };
  return (
    <Modal
      opened
      onClose={onClose}
      title="Restore the start of the run"
      closeButtonProps={{ "aria-label": "Close" }}
    >
      <form onSubmit={save}>
        <Stack>
          <Text size="sm">
            A new workspace as {start.workspace} was when the run started. Submit the job again with it to
            start the same.
          </Text>
          <TextInput
            label="Name of the new workspace"
            data-autofocus
            required
            maxLength={63}
            value={name}
            onChange={(event) => setName(event.currentTarget.value)}
          />
          <Text size="xs" c="dimmed" className="mono">
            mill run restore {job.run_id} --into {name.trim() || "NAME"}
          </Text>
          {restore.error && <ErrorNotice error={restore.error} />}
          <Group justify="flex-end">
            <Button type="submit" loading={restore.isPending} disabled={!name.trim()}>
              Create
            </Button>
          </Group>
        </Stack>
      </form>
    </Modal>
  );
}

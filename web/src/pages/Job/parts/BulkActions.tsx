import { Button, Group, Text } from "@mantine/core";
import { IconPlayerStop, IconTrash } from "@tabler/icons-react";
import { useChangeJobs } from "../../../api/jobs";
import type { Job } from "../../../api/shapes";
import { notifyDone, tell } from "../../../components/notify";
import { isFinished } from "./states";

interface Props {
  jobs: Job[];
  onDone: () => void;
}

/** Stop and delete for all that were chosen; deleted jobs stay in the bin for a while, so nobody is asked twice. */
export function BulkActions({ jobs, onDone }: Props) {
  const change = useChangeJobs();
  const living = jobs.filter((job) => !isFinished(job.state));
  if (jobs.length === 0) return null;
  const act = (what: "stop" | "delete", chosen: Job[], done: string) =>
    tell(change.mutateAsync({ jobs: chosen, what }), () => {
      onDone();
      notifyDone(done);
    });
  return (
    <Group mb="xs" role="group" aria-label="Chosen jobs">
      <Text size="sm" fw={600}>
        {jobs.length === 1 ? "1 job chosen" : `${jobs.length} jobs chosen`}
      </Text>
      <Button
        size="xs"
        variant="default"
        leftSection={<IconPlayerStop size={14} aria-hidden />}
        disabled={living.length === 0}
        loading={change.isPending}
        onClick={() => act("stop", living, `${living.length} asked to stop.`)}
      >
        Stop {living.length}
      </Button>
      <Button
        size="xs"
        variant="default"
        leftSection={<IconTrash size={14} aria-hidden />}
        loading={change.isPending}
        onClick={() => act("delete", jobs, `${jobs.length} moved to the bin, for 30 days.`)}
      >
        Delete {jobs.length}
      </Button>
      <Button size="xs" variant="subtle" onClick={onDone}>
        Choose none
      </Button>
    </Group>
  );
}

import { ActionIcon, Group, Tooltip } from "@mantine/core";
import { type Icon, IconArrowBackUp, IconPlayerStop, IconTrash } from "@tabler/icons-react";
import { useDeleteJob, useStopJob, useUndeleteJob } from "../../../api/jobs";
import { useMay } from "../../../api/session";
import type { Job } from "../../../api/shapes";
import { notifyDone, notifyUndo, tell } from "../../../components/notify";
import { isFinished } from "./states";

/** For the rows of a table: stop, delete (with a way back) and restore, as far as the viewer may. */
export function JobActions({ job }: { job: Job }) {
  const may = useMay(job.project, "member");
  const stop = useStopJob();
  const remove = useDeleteJob();
  const restore = useUndeleteJob();
  if (!may) return null;
  const place = { project: job.project, job: job.id };
  const name = job.written;
  const bringBack = () => tell(restore.mutateAsync(place), () => notifyDone(`${name} is back.`));
  const moveToBin = () =>
    tell(remove.mutateAsync(place), () => notifyUndo(`${name} is in the bin for 30 days.`, bringBack));
  if (job.deleted_at) {
    return (
      <Action
        icon={IconArrowBackUp}
        word="Restore"
        name={name}
        busy={restore.isPending}
        onClick={bringBack}
      />
    );
  }
  return (
    <Group gap={6} wrap="nowrap">
      {!isFinished(job.state) && (
        <Action
          icon={IconPlayerStop}
          word="Stop"
          name={name}
          busy={stop.isPending}
          onClick={() => tell(stop.mutateAsync(place))}
        />
      )}
      <Action icon={IconTrash} word="Delete" name={name} busy={remove.isPending} onClick={moveToBin} />
    </Group>
  );
}

interface ActionProps {
  icon: Icon;
  word: string;
  name: string;
  busy: boolean;
  onClick: () => void;
}

function Action({ icon: Picture, word, name, busy, onClick }: ActionProps) {
  return (
    <Tooltip label={word}>
      <ActionIcon variant="default" aria-label={`${word} ${name}`} loading={busy} onClick={onClick}>
        <Picture size={16} />
      </ActionIcon>
    </Tooltip>
  );
}

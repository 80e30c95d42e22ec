import { ActionIcon, Button, Group, Tooltip } from "@mantine/core";
import {
  type Icon,
  IconArrowBackUp,
  IconPlayerPause,
  IconPlayerPlay,
  IconPlayerStop,
  IconTrash,
} from "@tabler/icons-react";
import { useDeleteJob, useResumeJob, useStopJob, useSuspendJob, useUndeleteJob } from "../../../api/jobs";
import { useMay } from "../../../api/session";
import type { Job } from "../../../api/shapes";
import { notifyDone, notifyUndo, tell } from "../../../components/notify";
import { isFinished } from "./states";

interface Props {
  job: Job;
  /** Icons only, for the rows of a table. */
  compact?: boolean;
}

/** Suspend, resume, stop, delete (with a way back) and restore, as far as the viewer may. */
export function JobActions({ job, compact = false }: Props) {
  const may = useMay(job.project, "member");
  const stop = useStopJob();
  const suspend = useSuspendJob();
  const resume = useResumeJob();
  const remove = useDeleteJob();
  const restore = useUndeleteJob();
  if (!may) return null;
  const place = { project: job.project, job: job.id };
  const bringBack = () => tell(restore.mutateAsync(place), () => notifyDone(`${job.written} is back.`));
  const moveToBin = () =>
    tell(remove.mutateAsync(place), () => notifyUndo(`${job.written} is in the bin for 30 days.`, bringBack));
  if (job.deleted_at) {
    return (
      <Action
        compact={compact}
        icon={IconArrowBackUp}
        word="Restore"
        job={job}
        busy={restore.isPending}
        onClick={bringBack}
      />
    );
  }
  return (
    <Group gap={6} wrap="nowrap">
      {!compact && job.suspended_at && (
        <Action
          compact={compact}
          icon={IconPlayerPlay}
          word="Resume"
          job={job}
          busy={resume.isPending}
          onClick={() => tell(resume.mutateAsync(place))}
        />
      )}
      {!compact && !job.suspended_at && !isFinished(job.state) && (
        <Action
          compact={compact}
          icon={IconPlayerPause}
          word="Suspend"
          job={job}
          busy={suspend.isPending}
          onClick={() => tell(suspend.mutateAsync(place))}
        />
      )}
      {!isFinished(job.state) && (
        <Action
          compact={compact}
          icon={IconPlayerStop}
          word="Stop"
          job={job}
          busy={stop.isPending}
          onClick={() => tell(stop.mutateAsync(place))}
        />
      )}
      <Action
        compact={compact}
        icon={IconTrash}
        word="Delete"
        job={job}
        busy={remove.isPending}
        onClick={moveToBin}
      />
    </Group>
  );
}

interface ActionProps extends Required<Props> {
  icon: Icon;
  word: string;
  busy: boolean;
  onClick: () => void;
}

function Action({ compact, icon: Picture, word, job, busy, onClick }: ActionProps) {
  if (!compact) {
    return (
      <Button
        variant="default"
        leftSection={<Picture size={16} aria-hidden />}
        loading={busy}
        onClick={onClick}
      >
        {word}
      </Button>
    );
  }
  return (
    <Tooltip label={word}>
      <ActionIcon variant="default" aria-label={`${word} ${job.written}`} loading={busy} onClick={onClick}>
        <Picture size={16} />
      </ActionIcon>
    </Tooltip>
  );
}

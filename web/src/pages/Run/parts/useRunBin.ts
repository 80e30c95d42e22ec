import { useDeleteJob, useUndeleteJob } from "../../../api/jobs";
import { useDeleteRun, useUndeleteRun } from "../../../api/runs";
import { notifyDone, notifyUndo, tell } from "../../../components/notify";
import type { Recorded } from "../tabs";

/** To the bin and back; a job's run goes and comes with its job. */
export function useRunBin({ run, job }: Recorded) {
  const [removeJob, restoreJob] = [useDeleteJob(), useUndeleteJob()];
  const [removeRun, restoreRun] = [useDeleteRun(), useUndeleteRun()];
  const { project } = run;
  const name = job?.written ?? run.name;
  const bringBack = (): Promise<unknown> =>
    job ? restoreJob.mutateAsync({ project, job: job.id }) : restoreRun.mutateAsync({ project, run: run.id });
  const takeAway = (): Promise<unknown> =>
    job ? removeJob.mutateAsync({ project, job: job.id }) : removeRun.mutateAsync({ project, run: run.id });
  const restore = () => tell(bringBack(), () => notifyDone(`${name} is back.`));
  const remove = () =>
    tell(takeAway(), () => notifyUndo(`${name} is in the bin for 30 days.`, () => void restore()));
  return {
    isIn: (job?.deleted_at ?? run.deleted_at ?? null) !== null,
    isBusy: restoreJob.isPending || restoreRun.isPending,
    remove: () => void remove(),
    restore: () => void restore(),
  };
}

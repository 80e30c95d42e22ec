import { Button } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { IconArrowBackUp, IconPlayerPlay, IconPlayerStop, IconRepeat } from "@tabler/icons-react";
import { useResumeJob, useStopJob } from "../../../api/jobs";
import { useMay } from "../../../api/session";
import type { Job } from "../../../api/shapes";
import { tell } from "../../../components/notify";
import { isFinished } from "../../Job/parts/states";
import { RunAgain } from "../again/RunAgain";
import type { Recorded } from "../tabs";
import { RunMenu } from "./RunMenu";
import { useRunBin } from "./useRunBin";

/** What is done most often as buttons, the rest in a menu; as far as the viewer may. */
export function RunActions({ run, job }: Recorded) {
  const may = useMay(run.project, "member");
  const bin = useRunBin({ run, job });
  if (may && bin.isIn) {
    return (
      <Button
        variant="default"
        leftSection={<IconArrowBackUp size={16} aria-hidden />}
        loading={bin.isBusy}
        onClick={bin.restore}
      >
        Restore
      </Button>
    );
  }
  return (
    <>
      {may && <RunAgainButton run={run} job={job} />}
      {may && job && <StopOrResume job={job} />}
      <RunMenu run={run} job={job} may={may} onDelete={bin.remove} />
    </>
  );
}

function RunAgainButton(recorded: Recorded) {
  const [opened, dialog] = useDisclosure(false);
  return (
    <>
      <Button variant="default" leftSection={<IconRepeat size={16} aria-hidden />} onClick={dialog.open}>
        Run again
      </Button>
      {opened && <RunAgain {...recorded} onClose={dialog.close} />}
    </>
  );
}

function StopOrResume({ job }: { job: Job }) {
  const stop = useStopJob();
  const resume = useResumeJob();
  const place = { project: job.project, job: job.id };
  if (isFinished(job.state)) return null;
  return (
    <>
      {job.suspended_at && (
        <Button
          leftSection={<IconPlayerPlay size={16} aria-hidden />}
          loading={resume.isPending}
          onClick={() => tell(resume.mutateAsync(place))}
        >
          Resume
        </Button>
      )}
      <Button
        variant="default"
        leftSection={<IconPlayerStop size={16} aria-hidden />}
        loading={stop.isPending}
        onClick={() => tell(stop.mutateAsync(place))}
      >
        Stop
      </Button>
    </>
  );
}

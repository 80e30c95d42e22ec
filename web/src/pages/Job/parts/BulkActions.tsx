import { Button, Group, Text } from "@mantine/core";
import { type Icon, IconArrowBackUp, IconPlayerStop, IconTrash } from "@tabler/icons-react";
import { useState } from "react";
import { type BulkChange, type Outcome, useChangeJobs } from "../../../api/jobs";
import type { Job } from "../../../api/shapes";
import { notifyDone, notifyPartly, notifyUndo, tell } from "../../../components/notify";
import { isFinished } from "./states";

interface Props {
  jobs: Job[];
  onNone: () => void;
  /** Select all matching, also those on other pages; nothing where all of them are in sight. */
  onAll?: () => Promise<void>;
}

/** What can be done to all that were chosen; deleted jobs stay in the bin for a while, so nobody is asked twice. */
export function BulkActions({ jobs, onNone, onAll }: Props) {
  const change = useChangeJobs();
  const [isAsking, setAsking] = useState(false);
  if (jobs.length === 0) return null;
  const inBin = jobs.filter((job) => job.deleted_at);
  const living = jobs.filter((job) => !isFinished(job.state) && !job.deleted_at);
  const listed = jobs.filter((job) => !job.deleted_at);
  const act = (what: BulkChange, chosen: Job[], done: (outcome: Outcome) => void) =>
    tell(change.mutateAsync({ jobs: chosen, what }), (outcome) => {
      onNone();
      if (outcome.problems.length > 0) notifyPartly(outcome.jobs.length, outcome.problems);
      if (outcome.jobs.length > 0) done(outcome);
    });
  const restore = (chosen: Job[]) =>
    act("undelete", chosen, (outcome) => notifyDone(`${counted(outcome.jobs)} back.`));
  const actions: [Icon, string, Job[], () => void][] = [
    [
      IconPlayerStop,
      "Stop",
      living,
      () => act("stop", living, (outcome) => notifyDone(`${counted(outcome.jobs)} asked to stop.`)),
    ],
    [
      IconTrash,
      "Delete",
      listed,
      () =>
        act("delete", listed, (outcome) =>
          notifyUndo(`${counted(outcome.jobs)} in the bin for 30 days.`, () => restore(outcome.jobs)),
        ),
    ],
    [IconArrowBackUp, "Restore", inBin, () => restore(inBin)],
  ];
  return (
    <Group mb="xs" gap="xs" role="group" aria-label="Selected jobs">
      <Text size="sm" fw={600} aria-live="polite">
        {jobs.length === 1 ? "1 job chosen" : `${jobs.length.toLocaleString("en")} jobs chosen`}
      </Text>
      {actions
        .filter(([, , chosen]) => chosen.length > 0)
        .map(([Picture, word, chosen, start]) => (
          <Button
            key={word}
            size="xs"
            variant="default"
            leftSection={<Picture size={14} aria-hidden />}
            loading={change.isPending}
            onClick={start}
          >
            {word} {chosen.length.toLocaleString("en")}
          </Button>
        ))}
      <Button size="xs" variant="subtle" onClick={onNone}>
        Clear selection
      </Button>
      {onAll && (
        <Button
          size="xs"
          variant="subtle"
          loading={isAsking}
          onClick={() => {
            setAsking(true);
            void onAll().finally(() => setAsking(false));
          }}
        >
          Select all matching
        </Button>
      )}
    </Group>
  );
}

function counted(jobs: Job[]): string {
  return jobs.length === 1 ? `${jobs[0]?.written} is` : `${jobs.length.toLocaleString("en")} jobs are`;
}

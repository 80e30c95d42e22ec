import { Badge, Button, Group, ScrollArea } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { attemptsQuery } from "../../../api/jobs";
import type { Job, Rank } from "../../../api/shapes";
import { isFinished } from "./states";

interface Props {
  job: Job;
  attempt: number | undefined;
  rank: number | undefined;
  onChange: (rank: number) => void;
}

/** How many processes of a job have a log of their own; of an MPI job, all write into one. */
export function ranksOf(job: Job): number {
  return job.launcher === "mpi" ? 0 : job.processes;
}

/** The processes of a distributed job: how each stands, and which one's log is shown. Nothing for a plain job. */
export function Ranks({ job, attempt, rank, onChange }: Props) {
  const { data } = useQuery({
    ...attemptsQuery({ project: job.project, job: job.id }),
    enabled: ranksOf(job) > 0,
    // Ranks begin and end without an event of the job.
    refetchInterval: isFinished(job.state) ? false : 2000,
  });
  if (ranksOf(job) === 0) return null;
  const attempts = data?.items ?? [];
  const known = (attempt === undefined ? attempts.at(-1) : attempts.find((one) => one.number === attempt))
    ?.ranks;
  const isNewest = attempt === undefined || attempt === job.attempt;
  const failed = isNewest ? job.failed_rank : null;
  const shown = rank ?? failed ?? 0;
  return (
    <ScrollArea.Autosize mah={160} mb="xs">
      <Group gap="xs" role="group" aria-label="Ranks">
        {Array.from({ length: ranksOf(job) }, (_, number) => (
          <Button
            key={number}
            size="compact-sm"
            variant={number === shown ? "filled" : "default"}
            aria-pressed={number === shown}
            onClick={() => onChange(number)}
            rightSection={
              <Badge size="sm" variant="light" color={colorOf(known?.[number], number === failed)} tt="none">
                {rankWords(known?.[number])}
              </Badge>
            }
          >
            Rank {number}
            {number === failed && ", failed first"}
          </Button>
        ))}
      </Group>
    </ScrollArea.Autosize>
  );
}

/** How one process stands, and where. */
export function rankWords(rank: Rank | undefined): string {
  if (!rank) return "not begun";
  const where = rank.node ? ` on ${rank.node}` : "";
  if (rank.state !== "ended") return `${rank.state}${where}`;
  if (rank.signal !== null) return `signal ${rank.signal}${where}`;
  return rank.exit_code === null ? `ended${where}` : `exit status ${rank.exit_code}${where}`;
}

function colorOf(rank: Rank | undefined, failed: boolean): string {
  if (failed) return "red";
  if (rank?.state === "running") return "blue";
  return rank?.exit_code === 0 ? "green" : "gray";
}

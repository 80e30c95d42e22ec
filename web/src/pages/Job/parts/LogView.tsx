import { ActionIcon, Button, Group, Select, Switch, Text, Tooltip } from "@mantine/core";
import { IconArrowBarToDown, IconArrowBarToUp, IconDownload, IconTextWrap } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";
import { useEffect, useMemo, useState } from "react";
import {
  AROUND_BYTES,
  type LogPlace,
  logAttemptsQuery,
  logFileAddress,
  logQuery,
  readEarlier,
  readLater,
  TAIL_BYTES,
} from "../../../api/logs";
import type { Job } from "../../../api/shapes";
import { Loaded } from "../../../components/Loaded";
import { useTopic } from "../../../hooks/useLive";
import { indexOf, type Log, shownLines } from "../../../lib/log";
import { formatBytes } from "../../../lib/quantity";
import { LogLines } from "./LogLines";
import { LogSearchBox } from "./LogSearchBox";
import { Ranks, ranksOf } from "./Ranks";
import { isFinished } from "./states";
import { type Searching, useLogSearch } from "./useLogSearch";

/** A job's log by ranges: what is in sight is read, however long the whole is. */
export function LogView({ job }: { job: Job }) {
  const [attempt, setAttempt] = useState<number | undefined>(undefined);
  const [chosen, setChosen] = useState<number | undefined>(undefined);
  // Said always, so that the log in sight does not become another one while it is read.
  const rank = ranksOf(job) > 0 ? (chosen ?? job.failed_rank ?? 0) : undefined;
  const place = useMemo(
    () => ({ project: job.project, job: job.id, attempt, rank }),
    [job.project, job.id, attempt, rank],
  );
  return (
    <>
      <Ranks job={job} attempt={attempt} rank={rank} onChange={setChosen} />
      <AttemptLog
        key={`${attempt} ${rank}`}
        job={job}
        place={place}
        attempt={attempt}
        setAttempt={setAttempt}
      />
    </>
  );
}

interface Props {
  job: Job;
  place: LogPlace;
  attempt: number | undefined;
  setAttempt: (attempt: number | undefined) => void;
}

function AttemptLog({ job, place, attempt, setAttempt }: Props) {
  const isRunning = !isFinished(job.state) && attempt === undefined;
  const [from, setFrom] = useState(-TAIL_BYTES);
  const [follow, setFollow] = useState(true);
  const [wrap, setWrap] = useState(false);
  const [goal, setGoal] = useState<"hit" | "start" | null>(null);
  const searching = useLogSearch(place);
  useTopic(isRunning ? `log:${job.id}` : null);
  const result = useQuery(logQuery(place, from, follow));
  const log = result.data;
  const { hit } = searching;

  // A hit outside the window: read around it. It is gone to once that is here.
  // biome-ignore lint/correctness/useExhaustiveDependencies: only a new hit moves the window
  useEffect(() => {
    if (!hit) return;
    setFollow(false);
    setGoal("hit");
    if (log && indexOf(shownLines(log), hit.line_offset, log.next) < 0) {
      setFrom(Math.max(0, hit.line_offset - AROUND_BYTES));
    }
  }, [hit?.offset, searching.moves]);

  const jump = (offset: number) => {
    setFollow(offset < 0);
    setGoal(offset === 0 ? "start" : null);
    setFrom(offset);
  };
  return (
    <>
      <Group justify="space-between" mb="xs" gap="xs">
        <Group gap="sm">
          <LogSearchBox searching={searching} />
          <AttemptSelect job={job} attempt={attempt} onChange={setAttempt} />
        </Group>
        <Group gap="xs">
          {log && <Position log={log} />}
          {isRunning && (
            <Switch
              label="Follow"
              checked={follow}
              onChange={(event) => (event.currentTarget.checked ? jump(-TAIL_BYTES) : setFollow(false))}
            />
          )}
          <Tool label="To the beginning" icon={IconArrowBarToUp} onClick={() => jump(0)} />
          <Tool label="To the end" icon={IconArrowBarToDown} onClick={() => jump(-TAIL_BYTES)} />
          <Tool label="Wrap long lines" icon={IconTextWrap} pressed={wrap} onClick={() => setWrap(!wrap)} />
          <Button
            component="a"
            href={logFileAddress(place)}
            download={`${job.written}${place.rank === undefined ? "" : `-rank${place.rank}`}.log`}
            variant="default"
            size="xs"
            leftSection={<IconDownload size={14} aria-hidden />}
          >
            Download
          </Button>
        </Group>
      </Group>
      <Loaded result={result}>
        {(shown) => (
          <Window
            ended={!isRunning}
            log={shown}
            searching={searching}
            goal={goal}
            wrap={wrap}
            from={from}
            place={place}
            follow={follow}
            setFollow={setFollow}
          />
        )}
      </Loaded>
    </>
  );
}

interface WindowProps {
  log: Log;
  ended: boolean;
  searching: Searching;
  goal: "hit" | "start" | null;
  wrap: boolean;
  from: number;
  place: LogPlace;
  follow: boolean;
  setFollow: (follow: boolean) => void;
}

function Window({ log, ended, searching, goal, wrap, from, place, follow, setFollow }: WindowProps) {
  const lines = shownLines(log);
  const { hit } = searching;
  const index = hit && goal === "hit" ? indexOf(lines, hit.line_offset, log.next) : goal === "start" ? 0 : -1;
  // Another key is another jump, though it may be to the same line.
  const target = index >= 0 ? { index, key: `${goal} ${from} ${hit?.offset} ${searching.moves}` } : null;
  return (
    <LogLines
      lines={lines}
      ended={ended}
      wrap={wrap}
      follow={follow}
      target={target}
      isHit={(line) => searching.isHit(line.offset)}
      onScrolledUp={() => setFollow(false)}
      onEarlier={() => readEarlier(place, from)}
      onLater={() => readLater(place, from)}
    />
  );
}

/** Which part of the log is at hand. */
function Position({ log }: { log: Log }) {
  const isWhole = log.start === 0 && log.next >= log.size;
  return (
    <Text size="sm" c="dimmed">
      {isWhole
        ? formatBytes(log.size)
        : `${formatBytes(log.start)} to ${formatBytes(log.next)} of ${formatBytes(log.size)}`}
    </Text>
  );
}

function AttemptSelect({
  job,
  attempt,
  onChange,
}: {
  job: Job;
  attempt?: number;
  onChange: Props["setAttempt"];
}) {
  const { data } = useQuery({
    ...logAttemptsQuery({ project: job.project, job: job.id }),
    enabled: job.started_at !== null,
  });
  const attempts = (data?.items ?? []).filter((one) => one.rank === 0);
  if (attempts.length < 2) return null;
  const newest = attempts.at(-1)?.attempt;
  return (
    <Select
      size="xs"
      w={140}
      aria-label="Attempt"
      data={attempts.map((one) => ({ value: String(one.attempt), label: `Attempt ${one.attempt}` }))}
      value={String(attempt ?? newest)}
      allowDeselect={false}
      onChange={(value) => onChange(value === String(newest) ? undefined : Number(value))}
    />
  );
}

interface ToolProps {
  label: string;
  icon: typeof IconDownload;
  pressed?: boolean;
  onClick: () => void;
}

function Tool({ label, icon: Icon, pressed, onClick }: ToolProps) {
  return (
    <Tooltip label={label}>
      <ActionIcon
        variant={pressed ? "filled" : "default"}
        aria-label={label}
        aria-pressed={pressed}
        onClick={onClick}
      >
        <Icon size={16} aria-hidden />
      </ActionIcon>
    </Tooltip>
  );
}

import { Button, Group, Switch, Text } from "@mantine/core";
import { IconDownload } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { logAddress, logQuery } from "../../../api/jobs";
import type { Job } from "../../../api/shapes";
import { Loaded } from "../../../components/Loaded";
import { useTopic } from "../../../hooks/useLive";
import { type Log, shownLines } from "../../../lib/log";
import { formatBytes, plural } from "../../../lib/quantity";
import { LogLines } from "./LogLines";
import { isFinished } from "./states";

/** Of a long log, the page first reads this much from its end. */
const TAIL_BYTES = 1_000_000;

export function LogView({ job }: { job: Job }) {
  const [from, setFrom] = useState(-TAIL_BYTES);
  const [follow, setFollow] = useState(true);
  const place = { project: job.project, job: job.id };
  const isRunning = !isFinished(job.state);
  useTopic(isRunning ? `log:${job.id}` : null);
  const result = useQuery(logQuery(place, from));
  return (
    <Loaded result={result}>
      {(log) => (
        <>
          <Group justify="space-between" mb="xs">
            <Group gap="sm">
              <Text size="sm" c="dimmed">
                {plural(shownLines(log).length, "line")}
              </Text>
              {log.start > 0 && <FromStart log={log} read={() => setFrom(0)} />}
            </Group>
            <Group>
              {isRunning && (
                <Switch
                  label="Follow"
                  checked={follow}
                  onChange={(event) => setFollow(event.currentTarget.checked)}
                />
              )}
              <Button
                component="a"
                href={logAddress(place, { offset: 0 })}
                download={`${job.written}.log`}
                variant="default"
                size="xs"
                leftSection={<IconDownload size={14} aria-hidden />}
              >
                Download
              </Button>
            </Group>
          </Group>
          <LogLines lines={shownLines(log)} follow={follow} onScrolledUp={() => setFollow(false)} />
        </>
      )}
    </Loaded>
  );
}

function FromStart({ log, read }: { log: Log; read: () => void }) {
  return (
    <Button variant="subtle" size="compact-sm" onClick={read}>
      Show the first {formatBytes(log.start)} too
    </Button>
  );
}

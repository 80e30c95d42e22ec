import { Alert, Box, Button, Group, Stack } from "@mantine/core";
import { FitAddon } from "@xterm/addon-fit";
import { Terminal as Screen } from "@xterm/xterm";
import "@xterm/xterm/css/xterm.css";
import { useEffect, useRef, useState } from "react";
import type { Job } from "../../../api/shapes";
import { type Ending, JobTerminal, terminalAddress } from "../../../lib/stream";

interface Props {
  job: Pick<Job, "project" | "id">;
  /** Beside which process, where there are several. */
  rank: number;
}

/** A shell in the job, for as long as it is shown. */
export default function Terminal({ job, rank }: Props) {
  const place = useRef<HTMLDivElement>(null);
  const [ending, setEnding] = useState<Ending | null>(null);
  const [attempt, setAttempt] = useState(0);
  // biome-ignore lint/correctness/useExhaustiveDependencies: a new attempt opens a new shell
  useEffect(() => {
    if (!place.current) return;
    setEnding(null);
    return openShell(place.current, job, rank, setEnding);
  }, [job.project, job.id, rank, attempt]);
  return (
    <Stack gap="xs">
      <Box ref={place} h={420} bg="black" p={6} style={{ overflow: "hidden" }} data-testid="terminal" />
      {ending && (
        <Alert color={ending.exit === 0 ? "gray" : "orange"} role="status">
          <Group justify="space-between">
            {ending.problem ?? `The shell ended with status ${ending.exit}.`}
            <Button size="xs" variant="default" onClick={() => setAttempt(attempt + 1)}>
              Reopen
            </Button>
          </Group>
        </Alert>
      )}
    </Stack>
  );
}

function openShell(
  place: HTMLElement,
  job: Props["job"],
  rank: number,
  onEnd: (ending: Ending) => void,
): () => void {
  const screen = new Screen({ fontSize: 13, scrollback: 5000 });
  const fit = new FitAddon();
  screen.loadAddon(fit);
  screen.open(place);
  fit.fit();
  const address = terminalAddress({ project: job.project, job: job.id, rank }, screen.cols, screen.rows);
  const shell = new JobTerminal(address, { onOutput: (bytes) => screen.write(bytes), onEnd });
  screen.onData((text) => shell.type(text));
  screen.onResize(({ cols, rows }) => shell.resize(cols, rows));
  const watching = new ResizeObserver(() => fit.fit());
  watching.observe(place);
  screen.focus();
  return () => {
    watching.disconnect();
    shell.close();
    screen.dispose();
  };
}

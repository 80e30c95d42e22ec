/** What is wrong with the flow, each with its place and a hint. */
import { Anchor, Text } from "@mantine/core";
import { IconAlertTriangle } from "@tabler/icons-react";
import type { FlowProblem } from "../../../api/shapes";

const SHOWN = 100;

/** `steps.train.inputs.images` → `train` */
export function stepOf(problem: Pick<FlowProblem, "path">): string | null {
  return /^steps\.([^.[]+)/.exec(problem.path)?.[1] ?? null;
}

export function problemsByStep(problems: readonly FlowProblem[]): Map<string, string> {
  const found = new Map<string, string>();
  for (const problem of problems) {
    const step = stepOf(problem);
    if (step) found.set(step, [found.get(step), problem.message].filter(Boolean).join(" "));
  }
  return found;
}

interface Props {
  problems: readonly FlowProblem[];
  onChoose: (problem: FlowProblem) => void;
  onLine: (problem: FlowProblem) => void;
}

export function Problems({ problems, onChoose, onLine }: Props) {
  return (
    <ul className="flow-problems" aria-label="Problems">
      {problems.slice(0, SHOWN).map((problem, index) => (
        <li key={index} className="flow-problem">
          <IconAlertTriangle size={14} color="var(--mantine-color-orange-7)" aria-hidden />
          <div>
            <Anchor component="button" type="button" size="sm" ta="left" onClick={() => onChoose(problem)}>
              {problem.message}
            </Anchor>
            {problem.hint && (
              <Text span size="sm" c="dimmed">
                {" "}
                {problem.hint}
              </Text>
            )}
          </div>
          <Anchor component="button" type="button" size="xs" ml="auto" onClick={() => onLine(problem)}>
            line {problem.line}
          </Anchor>
        </li>
      ))}
      {problems.length > SHOWN && <li>{problems.length - SHOWN} more.</li>}
    </ul>
  );
}

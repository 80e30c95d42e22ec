/** What is wrong with the flow, each with its place and a hint. */
import { Alert, Anchor, List, Text } from "@mantine/core";
import { IconAlertTriangle } from "@tabler/icons-react";
import type { FlowProblem } from "../../../api/shapes";
import { plural } from "../../../lib/quantity";

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

export function ProblemList({
  problems,
  onChoose,
}: {
  problems: readonly FlowProblem[];
  onChoose: (problem: FlowProblem) => void;
}) {
  if (problems.length === 0) return null;
  return (
    <Alert
      color="orange"
      icon={<IconAlertTriangle size={18} />}
      title={plural(problems.length, "problem")}
      p="sm"
    >
      <List size="sm" spacing={2}>
        {problems.slice(0, 20).map((problem, index) => (
          <List.Item key={index}>
            <Anchor component="button" type="button" size="sm" onClick={() => onChoose(problem)}>
              Line {problem.line}
            </Anchor>
            : {problem.message}{" "}
            {problem.hint && (
              <Text span size="sm" c="dimmed">
                {problem.hint}
              </Text>
            )}
          </List.Item>
        ))}
      </List>
      {problems.length > 20 && <Text size="sm">{problems.length - 20} more.</Text>}
    </Alert>
  );
}

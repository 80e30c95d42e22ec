/** The executions of a step that runs over a list, as a field of squares: hundreds fit, and what failed is seen. */
import { Group, Stack, Text } from "@mantine/core";
import type { FlowStepRun } from "../../../api/shapes";
import { countStates } from "./stepStates";

interface Props {
  steps: readonly FlowStepRun[];
  chosen: number;
  onChoose: (place: number) => void;
}

export function Executions({ steps, chosen, onChoose }: Props) {
  return (
    <Stack gap={6} component="section" aria-label="Executions">
      <Text size="xs" c="dimmed">
        {countStates(steps)
          .map(([state, count]) => `${count} ${state}`)
          .join(" · ")}
      </Text>
      <Group gap={0} className="flow-squares">
        {steps.map((step, place) => (
          <button
            key={step.index}
            type="button"
            className="flow-square"
            data-state={step.state}
            aria-label={`Execution ${step.index}: ${eachWords(step)}, ${step.state}`}
            aria-pressed={place === chosen}
            title={`${step.index}: ${eachWords(step)} · ${step.state}`}
            onClick={() => onChoose(place)}
          />
        ))}
      </Group>
    </Stack>
  );
}

/** `lr = 0.1, seed = 3`. */
export function eachWords(step: Pick<FlowStepRun, "each">): string {
  return Object.entries(step.each ?? {})
    .map(([name, value]) => `${name} = ${typeof value === "object" ? JSON.stringify(value) : value}`)
    .join(", ");
}

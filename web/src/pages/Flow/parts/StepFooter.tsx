import { Group, Text } from "@mantine/core";
import type { FlowStepRun } from "../../../api/shapes";
import { Duration } from "../../../components/Duration";
import { Status } from "../../../components/Status";
import { doneWords, stateOf } from "./stepStates";

/** How a step goes, on its node: state, how many of many, where, how long. */
export function StepFooter({ steps }: { steps: FlowStepRun[] }) {
  const first = steps[0];
  if (!first) return null;
  const where = [...new Set(steps.map((step) => step.site ?? step.compute).filter(Boolean))].join(", ");
  return (
    <Group gap={6} px={10} pb={8} wrap="wrap">
      <Status state={stateOf(steps) as never} />
      <Text size="xs" c="dimmed">
        {[doneWords(steps), where && `at ${where}`].filter(Boolean).join(" · ")}
        {steps.length === 1 && first.started_at && (
          <>
            {" "}
            <Duration start={first.started_at} end={first.ended_at ?? null} />
          </>
        )}
      </Text>
    </Group>
  );
}

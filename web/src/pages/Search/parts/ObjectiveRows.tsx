import { ActionIcon, Button, Fieldset, Group, SegmentedControl, Stack, TextInput } from "@mantine/core";
import { IconPlus, IconX } from "@tabler/icons-react";
import { NEW_OBJECTIVE, type ObjectiveDraft } from "./searchDraft";

const MOST = 5;
const DIRECTIONS = [
  { value: "minimize", label: "Minimize" },
  { value: "maximize", label: "Maximize" },
];

interface Props {
  objectives: readonly ObjectiveDraft[];
  onChange: (objectives: ObjectiveDraft[]) => void;
}

/** The metrics that are looked at: one, or several that are weighed against each other. */
export function ObjectiveRows({ objectives, onChange }: Props) {
  const change = (place: number, part: Partial<ObjectiveDraft>) =>
    onChange(objectives.map((one, index) => (index === place ? { ...one, ...part } : one)));
  return (
    <Fieldset legend="Objective" variant="unstyled">
      <Stack gap="xs">
        {objectives.map((objective, place) => (
          <Group key={place} gap="xs">
            <SegmentedControl
              size="xs"
              data={DIRECTIONS}
              value={objective.direction}
              onChange={(direction) => change(place, { direction: direction as ObjectiveDraft["direction"] })}
              aria-label="Direction"
            />
            <TextInput
              size="xs"
              style={{ flexGrow: 1 }}
              aria-label="Metric"
              placeholder="val_loss, as the job logs it"
              value={objective.metric}
              onChange={(event) => change(place, { metric: event.currentTarget.value })}
            />
            <ActionIcon
              variant="subtle"
              color="gray"
              aria-label={`Remove objective ${objective.metric}`}
              onClick={() => onChange(objectives.filter((_, index) => index !== place))}
            >
              <IconX size={16} aria-hidden />
            </ActionIcon>
          </Group>
        ))}
        {objectives.length < MOST && (
          <Group>
            <Button
              variant="subtle"
              size="compact-sm"
              leftSection={<IconPlus size={14} aria-hidden />}
              onClick={() => onChange([...objectives, NEW_OBJECTIVE])}
            >
              Add an objective
            </Button>
          </Group>
        )}
      </Stack>
    </Fieldset>
  );
}

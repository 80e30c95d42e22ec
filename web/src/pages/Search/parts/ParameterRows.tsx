import {
  ActionIcon,
  Button,
  Checkbox,
  Fieldset,
  Group,
  NumberInput,
  SegmentedControl,
  Stack,
  TextInput,
} from "@mantine/core";
import { IconPlus, IconX } from "@tabler/icons-react";
import { NEW_PARAMETER, type ParameterDraft } from "./searchDraft";

interface Props {
  parameters: readonly ParameterDraft[];
  onChange: (parameters: ParameterDraft[]) => void;
}

const KINDS = [
  { value: "values", label: "Values" },
  { value: "range", label: "Range" },
];

/** What is tried: a row for each parameter. */
export function ParameterRows({ parameters, onChange }: Props) {
  const change = (place: number, part: Partial<ParameterDraft>) =>
    onChange(parameters.map((one, index) => (index === place ? { ...one, ...part } : one)));
  return (
    <Fieldset legend="Parameters" variant="unstyled">
      <Stack gap="xs">
        {parameters.map((parameter, place) => (
          <Row
            key={place}
            parameter={parameter}
            onChange={(part) => change(place, part)}
            onRemove={() => onChange(parameters.filter((_, index) => index !== place))}
          />
        ))}
        <Group>
          <Button
            variant="subtle"
            size="compact-sm"
            leftSection={<IconPlus size={14} aria-hidden />}
            onClick={() => onChange([...parameters, NEW_PARAMETER])}
          >
            Add a parameter
          </Button>
        </Group>
      </Stack>
    </Fieldset>
  );
}

interface RowProps {
  parameter: ParameterDraft;
  onChange: (part: Partial<ParameterDraft>) => void;
  onRemove: () => void;
}

function Row({ parameter, onChange, onRemove }: RowProps) {
  const of = parameter.name || "parameter";
  return (
    <Group gap="xs" align="center">
      <TextInput
        size="xs"
        w={120}
        aria-label="Name of the parameter"
        placeholder="lr"
        value={parameter.name}
        onChange={(event) => onChange({ name: event.currentTarget.value })}
      />
      <SegmentedControl
        size="xs"
        data={KINDS}
        value={parameter.kind}
        onChange={(kind) => onChange({ kind: kind as ParameterDraft["kind"] })}
        aria-label={`Kind of ${of}`}
      />
      {parameter.kind === "values" ? (
        <TextInput
          size="xs"
          style={{ flexGrow: 1 }}
          aria-label={`Values of ${of}`}
          placeholder="0.1, 0.01, 0.001"
          value={parameter.values}
          onChange={(event) => onChange({ values: event.currentTarget.value })}
        />
      ) : (
        <>
          <NumberInput
            size="xs"
            w={100}
            aria-label={`Least ${of}`}
            placeholder="from"
            hideControls
            value={parameter.min}
            onChange={(min) => onChange({ min })}
          />
          <NumberInput
            size="xs"
            w={100}
            aria-label={`Greatest ${of}`}
            placeholder="to"
            hideControls
            value={parameter.max}
            onChange={(max) => onChange({ max })}
          />
          <Checkbox
            size="xs"
            label="log"
            aria-label={`${of} on a logarithmic scale`}
            checked={parameter.log}
            onChange={(event) => onChange({ log: event.currentTarget.checked })}
          />
          <Checkbox
            size="xs"
            label="whole"
            aria-label={`${of} in whole numbers`}
            checked={parameter.whole}
            onChange={(event) => onChange({ whole: event.currentTarget.checked })}
          />
        </>
      )}
      <ActionIcon variant="subtle" color="gray" aria-label={`Remove ${of}`} onClick={onRemove}>
        <IconX size={16} aria-hidden />
      </ActionIcon>
    </Group>
  );
}

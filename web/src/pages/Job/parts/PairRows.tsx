import { ActionIcon, Button, Group, Input, Stack, TextInput } from "@mantine/core";
import { IconPlus, IconX } from "@tabler/icons-react";
import type { Pair } from "./params";

interface Props {
  label: string;
  description: string;
  /** One of them: `parameter`, `variable`. */
  noun: string;
  placeholders: readonly [string, string];
  pairs: readonly Pair[];
  onChange: (pairs: Pair[]) => void;
}

/** Names with values, a row each. */
export function PairRows({ label, description, noun, placeholders, pairs, onChange }: Props) {
  const change = (place: number, part: Partial<Pair>) =>
    onChange(pairs.map((pair, other) => (other === place ? { ...pair, ...part } : pair)));
  return (
    <Stack gap={6} role="group" aria-label={label}>
      <div>
        <Input.Label>{label}</Input.Label>
        <Input.Description>{description}</Input.Description>
      </div>
      {pairs.map((pair, place) => (
        <Group key={place} gap={6} wrap="nowrap">
          <TextInput
            flex={1}
            aria-label={`Name of ${noun} ${place + 1}`}
            placeholder={placeholders[0]}
            autoComplete="off"
            value={pair.key}
            // Where a row was added, somebody wants to write into it.
            autoFocus={pair.key === "" && pair.value === ""}
            onChange={(event) => change(place, { key: event.currentTarget.value })}
          />
          <TextInput
            flex={2}
            aria-label={`Value of ${noun} ${place + 1}`}
            placeholder={placeholders[1]}
            autoComplete="off"
            classNames={{ input: "mono" }}
            value={pair.value}
            onChange={(event) => change(place, { value: event.currentTarget.value })}
          />
          <ActionIcon
            variant="subtle"
            color="gray"
            aria-label={`Remove ${noun} ${place + 1}`}
            onClick={() => onChange(pairs.filter((_, other) => other !== place))}
          >
            <IconX size={16} />
          </ActionIcon>
        </Group>
      ))}
      <div>
        <Button
          size="compact-sm"
          variant="subtle"
          leftSection={<IconPlus size={14} aria-hidden />}
          onClick={() => onChange([...pairs, { key: "", value: "" }])}
        >
          Add {noun}
        </Button>
      </div>
    </Stack>
  );
}

import { ActionIcon, Button, Group, Select, Stack, Text, TextInput, Tooltip } from "@mantine/core";
import { type Icon, IconArrowDown, IconArrowUp, IconPlus, IconX } from "@tabler/icons-react";
import { durationProblem } from "../../../lib/duration";
import { anEntry, type EntryDraft } from "./draft";

interface Props {
  entries: EntryDraft[];
  templates: string[];
  onChange: (entries: EntryDraft[]) => void;
}

/** The templates of a queue in the order they are tried; moved by buttons, so also by keyboard. */
export function Entries({ entries, templates, onChange }: Props) {
  const change = (at: number, part: Partial<EntryDraft>) =>
    onChange(entries.map((entry, index) => (index === at ? { ...entry, ...part } : entry)));
  const move = (from: number, to: number) => {
    const moved = entries.filter((_, index) => index !== from);
    const entry = entries[from];
    if (entry) onChange(moved.toSpliced(to, 0, entry));
  };
  return (
    <Stack gap="xs" component="ol" m={0} p={0} style={{ listStyle: "none" }} aria-label="Templates in order">
      {entries.map((entry, index) => (
        <Group key={entry.key} component="li" gap="xs" align="flex-end">
          <Text size="sm" w={18} pb={8}>
            {index + 1}.
          </Text>
          <Select
            label="Template"
            data={templates}
            value={entry.template || null}
            onChange={(template) => change(index, { template: template ?? "" })}
            allowDeselect={false}
            searchable
            flex={1}
            miw={150}
          />
          <TextInput
            label="Patience"
            placeholder="none"
            w={100}
            value={entry.patience}
            error={durationProblem(entry.patience) !== null}
            onChange={(event) => change(index, { patience: event.currentTarget.value })}
          />
          <RowButton
            label={`Move ${entry.template || "this row"} up`}
            icon={IconArrowUp}
            disabled={index === 0}
            onClick={() => move(index, index - 1)}
          />
          <RowButton
            label={`Move ${entry.template || "this row"} down`}
            icon={IconArrowDown}
            disabled={index === entries.length - 1}
            onClick={() => move(index, index + 1)}
          />
          <RowButton
            label={`Remove ${entry.template || "this row"}`}
            icon={IconX}
            disabled={entries.length === 1}
            onClick={() => onChange(entries.filter((_, at) => at !== index))}
          />
        </Group>
      ))}
      <Group component="li">
        <Button
          variant="default"
          size="compact-sm"
          leftSection={<IconPlus size={14} aria-hidden />}
          onClick={() => onChange([...entries, anEntry()])}
        >
          Add a template
        </Button>
      </Group>
    </Stack>
  );
}

interface RowButtonProps {
  label: string;
  icon: Icon;
  disabled: boolean;
  onClick: () => void;
}

function RowButton({ label, icon: Picture, disabled, onClick }: RowButtonProps) {
  return (
    <Tooltip label={label}>
      <ActionIcon variant="default" size={36} aria-label={label} disabled={disabled} onClick={onClick}>
        <Picture size={16} />
      </ActionIcon>
    </Tooltip>
  );
}

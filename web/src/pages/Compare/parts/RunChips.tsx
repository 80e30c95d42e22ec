import { ActionIcon, Group, Text, Tooltip, UnstyledButton } from "@mantine/core";
import { IconEyeOff, IconX } from "@tabler/icons-react";
import { useState } from "react";
import type { CursorStore } from "../../../components/curves/cursor";
import { TextLink } from "../../../components/TextLink";
import type { ComparedRun } from "../Compare";

/** More names than these are folded away. */
const FEW = 24;

interface Props {
  compared: readonly ComparedRun[];
  hidden: ReadonlySet<string>;
  cursor: CursorStore;
  onHide: (ids: Set<string>) => void;
  onRemove: (id: string) => void;
}

/** The compared runs: a colour and a name each, hidden by a click on the colour, taken out by the cross. */
export function RunChips({ compared, hidden, cursor, onHide, onRemove }: Props) {
  const [all, setAll] = useState(false);
  const shown = all ? compared : compared.slice(0, FEW);
  const toggle = (id: string) => {
    const after = new Set(hidden);
    if (!after.delete(id)) after.add(id);
    onHide(after);
  };
  return (
    <Group gap={6} mb="sm" component="section" aria-label="Compared runs" className="run-chips">
      {shown.map(({ run, color }) => (
        <Group
          key={run.id}
          className="run-chip"
          data-hidden={hidden.has(run.id) || undefined}
          onMouseEnter={() => cursor.set({ run: run.id })}
          onMouseLeave={() => cursor.set({ run: null })}
          gap={4}
          wrap="nowrap"
        >
          <Tooltip label={hidden.has(run.id) ? `Show ${run.name}` : `Hide ${run.name}`}>
            <UnstyledButton
              className="run-chip-color"
              aria-label={hidden.has(run.id) ? `Show ${run.name}` : `Hide ${run.name}`}
              aria-pressed={!hidden.has(run.id)}
              onClick={() => toggle(run.id)}
              style={{ background: hidden.has(run.id) ? "transparent" : color, borderColor: color }}
            >
              {hidden.has(run.id) && <IconEyeOff size={11} aria-hidden />}
            </UnstyledButton>
          </Tooltip>
          <TextLink
            to="/projects/$project/runs/$run"
            params={{ project: run.project, run: run.id }}
            size="sm"
            c="inherit"
            truncate
            maw={220}
            title={`${run.name} · ${run.experiment} · ${run.id}`}
          >
            {run.name}
          </TextLink>
          <ActionIcon
            size={18}
            variant="subtle"
            color="gray"
            aria-label={`Remove ${run.name}`}
            onClick={() => onRemove(run.id)}
          >
            <IconX size={13} />
          </ActionIcon>
        </Group>
      ))}
      {compared.length > FEW && (
        <UnstyledButton onClick={() => setAll(!all)}>
          <Text size="sm" td="underline">
            {all ? "Show fewer" : `and ${compared.length - FEW} more`}
          </Text>
        </UnstyledButton>
      )}
    </Group>
  );
}

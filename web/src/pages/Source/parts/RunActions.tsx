import { ActionIcon, Group, Tooltip } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { IconPlayerPause, IconPlayerPlay, IconRefresh, IconTrash } from "@tabler/icons-react";
import type { Source } from "../../../api/shapes";
import { ConfirmByName } from "../../../components/ConfirmByName";
import { notifyDone, tell } from "../../../components/notify";

interface Props {
  name: string;
  state: Source["state"];
  /** What stays when it is removed. */
  explanation: string;
  run: () => Promise<unknown>;
  pause: (paused: boolean) => Promise<unknown>;
  remove: () => Promise<unknown>;
  busy: boolean;
  /** Why it could not be removed. */
  error: Error | null;
}

/** What can be done with a source or a mirror: run it now, pause and resume it, remove it. */
export function RunActions({ name, state, explanation, run, pause, remove, busy, error }: Props) {
  const [removing, dialog] = useDisclosure(false);
  const isPaused = state === "paused";
  return (
    <Group gap="xs" wrap="nowrap">
      <Action
        label={`Run ${name} now`}
        onClick={() => tell(run(), () => notifyDone(`${name} runs now.`))}
        disabled={isPaused || state === "running"}
        busy={busy}
      >
        <IconRefresh size={14} />
      </Action>
      <Action
        label={`${isPaused ? "Resume" : "Pause"} ${name}`}
        onClick={() => tell(pause(!isPaused))}
        busy={busy}
      >
        {isPaused ? <IconPlayerPlay size={14} /> : <IconPlayerPause size={14} />}
      </Action>
      <Action label={`Remove ${name}`} onClick={dialog.open} busy={busy}>
        <IconTrash size={14} />
      </Action>
      <ConfirmByName
        opened={removing}
        onClose={dialog.close}
        title={`Remove ${name}?`}
        name={name}
        explanation={explanation}
        action="Remove it"
        onConfirm={() => void remove().then(dialog.close, () => undefined)}
        busy={busy}
        error={error}
      />
    </Group>
  );
}

interface ActionProps {
  label: string;
  onClick: () => void;
  disabled?: boolean;
  busy: boolean;
  children: React.ReactNode;
}

function Action({ label, onClick, disabled, busy, children }: ActionProps) {
  return (
    <Tooltip label={label}>
      <ActionIcon variant="default" aria-label={label} onClick={onClick} disabled={disabled} loading={busy}>
        {children}
      </ActionIcon>
    </Tooltip>
  );
}

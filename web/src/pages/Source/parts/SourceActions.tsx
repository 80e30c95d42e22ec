import { ActionIcon, Group, Tooltip } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { IconPlayerPause, IconPlayerPlay, IconRefresh, IconTrash } from "@tabler/icons-react";
import type { Source } from "../../../api/shapes";
import { useDeleteSource, usePauseSource, useRunSource } from "../../../api/sources";
import { ConfirmByName } from "../../../components/ConfirmByName";
import { notifyDone, tell } from "../../../components/notify";

export function SourceActions({ source }: { source: Source }) {
  const run = useRunSource(source.project);
  const pause = usePauseSource(source.project);
  const remove = useDeleteSource(source.project);
  const [removing, dialog] = useDisclosure(false);
  const isPaused = source.state === "paused";
  const toggle = () => tell(pause.mutateAsync({ source: source.id, paused: !isPaused }));
  return (
    <Group gap="xs" wrap="nowrap">
      <Action
        label={`Run ${source.name} now`}
        onClick={() => tell(run.mutateAsync(source.id), () => notifyDone(`${source.name} runs now.`))}
        disabled={isPaused || source.state === "running"}
        busy={run.isPending}
      >
        <IconRefresh size={14} />
      </Action>
      <Action
        label={`${isPaused ? "Resume" : "Pause"} ${source.name}`}
        onClick={toggle}
        busy={pause.isPending}
      >
        {isPaused ? <IconPlayerPlay size={14} /> : <IconPlayerPause size={14} />}
      </Action>
      <Action label={`Remove ${source.name}`} onClick={dialog.open} busy={remove.isPending}>
        <IconTrash size={14} />
      </Action>
      <ConfirmByName
        opened={removing}
        onClose={dialog.close}
        title={`Remove ${source.name}?`}
        name={source.name}
        explanation="Imported files stay in the dataset."
        action="Remove it"
        onConfirm={() => remove.mutate(source.id, { onSuccess: dialog.close })}
        busy={remove.isPending}
        error={remove.error}
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

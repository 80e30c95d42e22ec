import { ActionIcon, Button, Group, Tooltip } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { IconPencil, IconPlus, IconTrash } from "@tabler/icons-react";
import { useChangeQueue, useCreateQueue, useRemoveQueue } from "../../../api/queues";
import { useSession } from "../../../api/session";
import type { Queue } from "../../../api/shapes";
import { ConfirmByName } from "../../../components/ConfirmByName";
import { anEntry, draftOf, requestOf } from "./draft";
import { QueueForm } from "./QueueForm";

/** Only site administrators change queues. */
export function NewQueueButton() {
  const isAdmin = useSession()?.user.is_admin ?? false;
  const [opened, dialog] = useDisclosure(false);
  if (!isAdmin) return null;
  return (
    <>
      <Button leftSection={<IconPlus size={16} aria-hidden />} onClick={dialog.open}>
        New queue
      </Button>
      {opened && <NewQueue onClose={dialog.close} />}
    </>
  );
}

function NewQueue({ onClose }: { onClose: () => void }) {
  const create = useCreateQueue();
  return (
    <QueueForm
      isNew
      before={{ name: "", description: "", entries: [anEntry()] }}
      busy={create.isPending}
      error={create.error}
      onClose={onClose}
      onSubmit={(draft) =>
        create.mutate({ name: draft.name.trim(), ...requestOf(draft) }, { onSuccess: onClose })
      }
    />
  );
}

export function QueueActions({ queue }: { queue: Queue }) {
  const [editing, editor] = useDisclosure(false);
  const [removing, question] = useDisclosure(false);
  return (
    <Group gap={4} wrap="nowrap">
      <Tooltip label="Edit">
        <ActionIcon variant="default" onClick={editor.open} aria-label={`Edit ${queue.name}`}>
          <IconPencil size={16} />
        </ActionIcon>
      </Tooltip>
      <Tooltip label="Remove">
        <ActionIcon variant="default" onClick={question.open} aria-label={`Remove ${queue.name}`}>
          <IconTrash size={16} />
        </ActionIcon>
      </Tooltip>
      {editing && <Editor queue={queue} onClose={editor.close} />}
      {removing && <Remove queue={queue} onClose={question.close} />}
    </Group>
  );
}

function Editor({ queue, onClose }: { queue: Queue; onClose: () => void }) {
  const change = useChangeQueue(queue.name);
  return (
    <QueueForm
      isNew={false}
      before={draftOf(queue)}
      busy={change.isPending}
      error={change.error}
      onClose={onClose}
      onSubmit={(draft) => change.mutate(requestOf(draft), { onSuccess: onClose })}
    />
  );
}

function Remove({ queue, onClose }: { queue: Queue; onClose: () => void }) {
  const remove = useRemoveQueue();
  return (
    <ConfirmByName
      opened
      onClose={onClose}
      title={`Remove ${queue.name}?`}
      name={queue.name}
      explanation="Running jobs keep what they have. A queue that queued jobs name cannot be removed."
      action="Remove"
      onConfirm={() => remove.mutate(queue.name, { onSuccess: onClose })}
      busy={remove.isPending}
      error={remove.error}
    />
  );
}

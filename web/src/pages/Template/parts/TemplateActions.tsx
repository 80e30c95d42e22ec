import { ActionIcon, Button, Group, Tooltip } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { IconPencil, IconPlus, IconTrash } from "@tabler/icons-react";
import { useSession } from "../../../api/session";
import type { Template } from "../../../api/shapes";
import { useChangeTemplate, useCreateTemplate, useRemoveTemplate } from "../../../api/templates";
import { ConfirmByName } from "../../../components/ConfirmByName";
import { draftOf, NEW_TEMPLATE, requestOf } from "./draft";
import { TemplateForm } from "./TemplateForm";

/** Only site administrators change templates. */
export function NewTemplateButton() {
  const isAdmin = useSession()?.user.is_admin ?? false;
  const [opened, dialog] = useDisclosure(false);
  if (!isAdmin) return null;
  return (
    <>
      <Button leftSection={<IconPlus size={16} aria-hidden />} onClick={dialog.open}>
        New template
      </Button>
      {opened && <NewTemplate onClose={dialog.close} />}
    </>
  );
}

function NewTemplate({ onClose }: { onClose: () => void }) {
  const create = useCreateTemplate();
  return (
    <TemplateForm
      isNew
      before={NEW_TEMPLATE}
      busy={create.isPending}
      error={create.error}
      onClose={onClose}
      onSubmit={(draft) =>
        create.mutate({ name: draft.name.trim(), ...requestOf(draft) }, { onSuccess: onClose })
      }
    />
  );
}

export function TemplateActions({ template }: { template: Template }) {
  const [editing, editor] = useDisclosure(false);
  const [removing, question] = useDisclosure(false);
  return (
    <Group gap={4} wrap="nowrap">
      <Tooltip label="Edit">
        <ActionIcon variant="default" onClick={editor.open} aria-label={`Edit ${template.name}`}>
          <IconPencil size={16} />
        </ActionIcon>
      </Tooltip>
      <Tooltip label="Remove">
        <ActionIcon variant="default" onClick={question.open} aria-label={`Remove ${template.name}`}>
          <IconTrash size={16} />
        </ActionIcon>
      </Tooltip>
      {editing && <Editor template={template} onClose={editor.close} />}
      {removing && <Remove template={template} onClose={question.close} />}
    </Group>
  );
}

function Editor({ template, onClose }: { template: Template; onClose: () => void }) {
  const change = useChangeTemplate(template.name);
  return (
    <TemplateForm
      isNew={false}
      before={draftOf(template)}
      busy={change.isPending}
      error={change.error}
      onClose={onClose}
      onSubmit={(draft) => change.mutate(requestOf(draft), { onSuccess: onClose })}
    />
  );
}

function Remove({ template, onClose }: { template: Template; onClose: () => void }) {
  const remove = useRemoveTemplate();
  return (
    <ConfirmByName
      opened
      onClose={onClose}
      title={`Remove ${template.name}?`}
      name={template.name}
      explanation="Running jobs keep what they have. A template that a queue or queued jobs need cannot be removed."
      action="Remove"
      onConfirm={() => remove.mutate(template.name, { onSuccess: onClose })}
      busy={remove.isPending}
      error={remove.error}
    />
  );
}

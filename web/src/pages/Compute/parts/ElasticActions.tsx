import { ActionIcon, Button, Group, Tooltip } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { IconPencil, IconPlus, IconTrash } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";
import { useChangeElastic, useCreateElastic, useRemoveElastic } from "../../../api/elastic";
import { useSession } from "../../../api/session";
import type { Elastic } from "../../../api/shapes";
import { sitesQuery } from "../../../api/topology";
import { ConfirmByName } from "../../../components/ConfirmByName";
import { CopyIcon } from "../../../components/Copyable";
import { ElasticForm } from "./ElasticForm";
import { commandLineOf, draftOf, NEW_ELASTIC, requestOf } from "./elasticDraft";

/** Only site administrators create and change elastic computes. */
export function NewElasticButton() {
  const isAdmin = useSession()?.user.is_admin ?? false;
  const sites = useQuery(sitesQuery).data?.items.map(({ name }) => name) ?? [];
  const [opened, dialog] = useDisclosure(false);
  if (!isAdmin) return null;
  const site = sites.includes(NEW_ELASTIC.site) ? NEW_ELASTIC.site : (sites[0] ?? NEW_ELASTIC.site);
  return (
    <>
      <Button leftSection={<IconPlus size={16} aria-hidden />} onClick={dialog.open}>
        New elastic compute
      </Button>
      {opened && <NewElastic site={site} onClose={dialog.close} />}
    </>
  );
}

function NewElastic({ site, onClose }: { site: string; onClose: () => void }) {
  const create = useCreateElastic();
  return (
    <ElasticForm
      isNew
      before={{ ...NEW_ELASTIC, site }}
      busy={create.isPending}
      error={create.error}
      onClose={onClose}
      onSubmit={(draft) =>
        create.mutate({ name: draft.name.trim(), ...requestOf(draft) }, { onSuccess: onClose })
      }
    />
  );
}

export function ElasticActions({ elastic }: { elastic: Elastic }) {
  const isAdmin = useSession()?.user.is_admin ?? false;
  const [editing, editor] = useDisclosure(false);
  const [removing, question] = useDisclosure(false);
  return (
    <Group gap={4} wrap="nowrap">
      <CopyIcon value={commandLineOf("create", draftOf(elastic)) ?? ""} label="Copy as CLI" />
      {isAdmin && (
        <>
          <Tooltip label="Edit">
            <ActionIcon variant="default" onClick={editor.open} aria-label={`Edit ${elastic.name}`}>
              <IconPencil size={16} />
            </ActionIcon>
          </Tooltip>
          <Tooltip label="Remove">
            <ActionIcon variant="default" onClick={question.open} aria-label={`Remove ${elastic.name}`}>
              <IconTrash size={16} />
            </ActionIcon>
          </Tooltip>
        </>
      )}
      {editing && <Editor elastic={elastic} onClose={editor.close} />}
      {removing && <Remove elastic={elastic} onClose={question.close} />}
    </Group>
  );
}

function Editor({ elastic, onClose }: { elastic: Elastic; onClose: () => void }) {
  const change = useChangeElastic(elastic.name);
  return (
    <ElasticForm
      isNew={false}
      before={draftOf(elastic)}
      busy={change.isPending}
      error={change.error}
      onClose={onClose}
      onSubmit={(draft) => change.mutate(requestOf(draft), { onSuccess: onClose })}
    />
  );
}

function Remove({ elastic, onClose }: { elastic: Elastic; onClose: () => void }) {
  const remove = useRemoveElastic();
  return (
    <ConfirmByName
      opened
      onClose={onClose}
      title={`Remove ${elastic.name}?`}
      name={elastic.name}
      explanation="It cannot be removed while it has machines. To delete them once their jobs have ended, set its maximum to 0."
      action="Remove"
      onConfirm={() => remove.mutate(elastic.name, { onSuccess: onClose })}
      busy={remove.isPending}
      error={remove.error}
    />
  );
}

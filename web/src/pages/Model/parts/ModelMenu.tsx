import { ActionIcon, Button, Group, Menu, Modal, Stack, TextInput, Tooltip } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { IconDots, IconPencil, IconTrash } from "@tabler/icons-react";
import { useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { useChangeModel, useDeleteModel, useUndeleteModel } from "../../../api/models";
import { useMay } from "../../../api/session";
import type { Model } from "../../../api/shapes";
import { ErrorNotice } from "../../../components/ErrorNotice";
import { notifyUndo, tell } from "../../../components/notify";

/** Rename and delete, for those who may. */
export function ModelMenu({ model }: { model: Model }) {
  const may = useMay(model.project, "member");
  const [renaming, rename] = useDisclosure(false);
  const remove = useRemoval(model);
  if (!may) return null;
  return (
    <>
      <Menu position="bottom-end" withinPortal>
        <Menu.Target>
          <Tooltip label="More actions">
            <ActionIcon variant="default" size={36} aria-label="More actions">
              <IconDots size={18} aria-hidden />
            </ActionIcon>
          </Tooltip>
        </Menu.Target>
        <Menu.Dropdown>
          <Menu.Item leftSection={<IconPencil size={16} aria-hidden />} onClick={rename.open}>
            Rename
          </Menu.Item>
          <Menu.Item color="red" leftSection={<IconTrash size={16} aria-hidden />} onClick={remove}>
            Delete
          </Menu.Item>
        </Menu.Dropdown>
      </Menu>
      {renaming && <RenameModel model={model} onClose={rename.close} />}
    </>
  );
}

/** Into the bin, with a way back. */
function useRemoval(model: Model): () => void {
  const navigate = useNavigate();
  const remove = useDeleteModel();
  const restore = useUndeleteModel();
  const place = { project: model.project, model: model.name };
  return () =>
    void tell(remove.mutateAsync(place), () => {
      notifyUndo(`${model.name} is in the bin.`, () => void tell(restore.mutateAsync(place)));
      void navigate({ to: "/models", search: { project: model.project } });
    });
}

function RenameModel({ model, onClose }: { model: Model; onClose: () => void }) {
  const change = useChangeModel({ project: model.project, model: model.name });
  const navigate = useNavigate();
  const [name, setName] = useState(model.name);
  const submit = (event: React.FormEvent) => {
    event.preventDefault();
    change.mutate(
      { name: name.trim() },
      {
        onSuccess: (changed) => {
          onClose();
          void navigate({
            to: "/projects/$project/models/$model",
            params: { project: changed.project, model: changed.name },
            replace: true,
          });
        },
      },
    );
  };
  return (
    <Modal
      opened
      onClose={onClose}
      title={`Rename ${model.name}`}
      closeButtonProps={{ "aria-label": "Close" }}
    >
      <form onSubmit={submit}>
        <Stack>
          <TextInput
            label="Name"
            value={name}
            maxLength={200}
            onChange={(event) => setName(event.currentTarget.value)}
            data-autofocus
          />
          {change.error && <ErrorNotice error={change.error} />}
          <Group justify="flex-end">
            <Button variant="default" onClick={onClose}>
              Cancel
            </Button>
            <Button
              type="submit"
              loading={change.isPending}
              disabled={!name.trim() || name.trim() === model.name}
            >
              Rename
            </Button>
          </Group>
        </Stack>
      </form>
    </Modal>
  );
}

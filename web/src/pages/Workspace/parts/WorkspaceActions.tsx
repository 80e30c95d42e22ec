import { ActionIcon, Button, Group, Menu, Tooltip } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { IconCamera, IconCopy, IconDots, IconTrash } from "@tabler/icons-react";
import { useNavigate } from "@tanstack/react-router";
import { useMay } from "../../../api/session";
import type { Workspace } from "../../../api/shapes";
import { useDeleteWorkspace, useTakeSnapshot, useUndeleteWorkspace } from "../../../api/workspaces";
import { notifyDone, notifyError, notifyUndo } from "../../../components/notify";
import { NewWorkspace } from "./NewWorkspace";
import { OpenButton } from "./OpenButton";

export function WorkspaceActions({ workspace }: { workspace: Workspace }) {
  const may = useMay(workspace.project, "member") && workspace.usable;
  const place = { project: workspace.project, workspace: workspace.name };
  const take = useTakeSnapshot(place);
  const remove = useDeleteWorkspace(place);
  const undelete = useUndeleteWorkspace({ ...place, workspace: workspace.id });
  const navigate = useNavigate();
  const [cloning, dialog] = useDisclosure(false);
  if (!may) return null;
  const moveToBin = () =>
    remove.mutate(false, {
      onSuccess: () => {
        void navigate({ to: "/workspaces", search: { project: workspace.project } });
        notifyUndo(`${workspace.name} is in the bin.`, () => undelete.mutate());
      },
      onError: notifyError,
    });
  return (
    <Group gap="xs">
      <OpenButton workspace={workspace} />
      <Button
        variant="default"
        leftSection={<IconCamera size={16} aria-hidden />}
        loading={take.isPending}
        disabled={workspace.state !== "ready"}
        onClick={() =>
          take.mutate(
            {},
            { onSuccess: (made) => notifyDone(`Snapshot ${made.name} begun.`), onError: notifyError },
          )
        }
      >
        Snapshot
      </Button>
      <Button
        variant="default"
        leftSection={<IconCopy size={16} aria-hidden />}
        disabled={workspace.state !== "ready"}
        onClick={dialog.open}
      >
        Clone
      </Button>
      <Menu position="bottom-end" withinPortal>
        <Menu.Target>
          <Tooltip label="More actions">
            <ActionIcon variant="default" size={36} aria-label="More actions">
              <IconDots size={18} aria-hidden />
            </ActionIcon>
          </Tooltip>
        </Menu.Target>
        <Menu.Dropdown>
          <Menu.Item color="red" leftSection={<IconTrash size={16} aria-hidden />} onClick={moveToBin}>
            Move to bin
          </Menu.Item>
        </Menu.Dropdown>
      </Menu>
      {cloning && <NewWorkspace project={workspace.project} clone={workspace.name} onClose={dialog.close} />}
    </Group>
  );
}

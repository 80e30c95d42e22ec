import { Button, Group } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import type { Workspace } from "../../../api/shapes";
import { useDeleteWorkspace, useUndeleteWorkspace } from "../../../api/workspaces";
import { ConfirmByName } from "../../../components/ConfirmByName";
import { notifyDone, notifyError } from "../../../components/notify";

/** Of one in the bin: bring it back, or remove it for good. */
export function BinnedActions({ workspace }: { workspace: Workspace }) {
  const place = { project: workspace.project, workspace: workspace.id };
  const undelete = useUndeleteWorkspace(place);
  const remove = useDeleteWorkspace(place);
  const [opened, dialog] = useDisclosure(false);
  if (!workspace.usable) return null;
  return (
    <Group gap="xs" wrap="nowrap">
      <Button
        size="compact-xs"
        variant="default"
        loading={undelete.isPending}
        onClick={() =>
          undelete.mutate(undefined, {
            onSuccess: () => notifyDone(`${workspace.name} is back.`),
            onError: notifyError,
          })
        }
      >
        Restore
      </Button>
      <Button size="compact-xs" variant="subtle" color="red.9" onClick={dialog.open}>
        Delete for good
      </Button>
      <ConfirmByName
        opened={opened}
        onClose={dialog.close}
        title={`Delete ${workspace.name} for good`}
        name={workspace.name}
        explanation="Its files and its snapshots are removed, on the volume and in the lake. This cannot be undone."
        action="Delete for good"
        busy={remove.isPending}
        error={remove.error}
        onConfirm={() => remove.mutate(true, { onSuccess: dialog.close })}
      />
    </Group>
  );
}

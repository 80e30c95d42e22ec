import { Button, Group } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { IconPencil, IconPlus, IconTrash } from "@tabler/icons-react";
import { useSession } from "../../../api/session";
import type { Volume } from "../../../api/shapes";
import { useRemoveVolume } from "../../../api/volumes";
import { ConfirmByName } from "../../../components/ConfirmByName";
import { plural } from "../../../lib/quantity";
import { EditVolume } from "./EditVolume";
import { IdleTime } from "./IdleTime";
import { NewVolume } from "./NewVolume";

/** For site administrators. */
export function NewVolumeButton() {
  const [opened, dialog] = useDisclosure(false);
  if (!useSession()?.user.is_admin) return null;
  return (
    <>
      <Button leftSection={<IconPlus size={16} aria-hidden />} onClick={dialog.open}>
        New volume
      </Button>
      {opened && <NewVolume onClose={dialog.close} />}
    </>
  );
}

/** What a site administrator may do to a volume. */
export function VolumeActions({ volume }: { volume: Volume }) {
  const remove = useRemoveVolume();
  const [opened, dialog] = useDisclosure(false);
  const [edited, editing] = useDisclosure(false);
  if (!useSession()?.user.is_admin) return null;
  const held = volume.cached_commits;
  return (
    <Group gap="xs">
      <IdleTime volume={volume} />
      <Button
        size="compact-sm"
        variant="default"
        leftSection={<IconPencil size={14} aria-hidden />}
        aria-label={`Change ${volume.name}`}
        onClick={editing.open}
      >
        Change
      </Button>
      {edited && <EditVolume volume={volume} onClose={editing.close} />}
      <Button
        size="compact-sm"
        variant="default"
        leftSection={<IconTrash size={14} aria-hidden />}
        aria-label={`Remove ${volume.name}`}
        onClick={dialog.open}
      >
        Remove
      </Button>
      <ConfirmByName
        opened={opened}
        onClose={dialog.close}
        title={`Remove the volume ${volume.name}?`}
        name={volume.name}
        explanation={
          held
            ? `${plural(held, "cached commit")} there will be cleared first; the lake keeps them. What is pinned or in use keeps the volume.`
            : "Nothing is cached there. The directory itself stays."
        }
        action="Remove"
        onConfirm={() => remove.mutate(volume.name, { onSuccess: dialog.close })}
        busy={remove.isPending}
        error={remove.error}
      />
    </Group>
  );
}

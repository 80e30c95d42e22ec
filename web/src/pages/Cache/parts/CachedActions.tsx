import { ActionIcon, Group, Tooltip } from "@mantine/core";
import { type Icon, IconPin, IconPinnedOff, IconTrash } from "@tabler/icons-react";
import { useClearCached, usePinCached } from "../../../api/caches";
import { useMay } from "../../../api/session";
import type { CachedCommit } from "../../../api/shapes";
import { tell } from "../../../components/notify";

/** Pin, unpin and clear: each one click. Cleared bytes can be fetched again at any time. */
export function CachedActions({ cached }: { cached: CachedCommit }) {
  const may = useMay(cached.project, "member");
  const pin = usePinCached();
  const clear = useClearCached();
  if (!may || cached.state === "evicting") return null;
  const name = `${cached.dataset} on ${cached.volume}`;
  return (
    <Group gap={4} wrap="nowrap">
      <Action
        icon={cached.pinned ? IconPinnedOff : IconPin}
        label={cached.pinned ? `Unpin ${name}` : `Pin ${name}`}
        busy={pin.isPending}
        onClick={() => tell(pin.mutateAsync({ cached: cached.id, pinned: !cached.pinned }))}
      />
      <Action
        icon={IconTrash}
        label={`Clear ${name}`}
        busy={clear.isPending}
        onClick={() => tell(clear.mutateAsync(cached.id))}
      />
    </Group>
  );
}

interface ActionProps {
  icon: Icon;
  label: string;
  busy: boolean;
  onClick: () => void;
}

function Action({ icon: Picture, label, busy, onClick }: ActionProps) {
  return (
    <Tooltip label={label}>
      <ActionIcon variant="default" aria-label={label} loading={busy} onClick={onClick}>
        <Picture size={16} />
      </ActionIcon>
    </Tooltip>
  );
}

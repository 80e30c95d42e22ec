import { ActionIcon, Group, Tooltip } from "@mantine/core";
import { type Icon, IconPin, IconPinnedOff, IconTrash } from "@tabler/icons-react";
import { useCacheCommit, useClearCached, usePinCached } from "../../../api/caches";
import { useMay } from "../../../api/session";
import type { CachedCommit } from "../../../api/shapes";
import { notifyUndo, tell } from "../../../components/notify";
import { CachedMenu } from "./CachedMenu";

/** Pin, unpin and clear by one click, the rest by two. What was cleared is in the lake and can come back. */
export function CachedActions({ cached }: { cached: CachedCommit }) {
  const may = useMay(cached.project, "member");
  const pin = usePinCached();
  const clear = useClear(cached);
  const name = `${cached.dataset} on ${cached.volume}`;
  const changeable = may && cached.state !== "evicting";
  return (
    <Group gap={4} wrap="nowrap">
      {changeable && (
        <>
          <Action
            icon={cached.pinned ? IconPinnedOff : IconPin}
            label={cached.pinned ? `Unpin ${name}` : `Pin ${name}`}
            busy={pin.isPending}
            onClick={() => tell(pin.mutateAsync({ cached: cached.id, pinned: !cached.pinned }))}
          />
          <Action icon={IconTrash} label={`Clear ${name}`} busy={clear.busy} onClick={clear.start} />
        </>
      )}
      <CachedMenu cached={cached} changeable={changeable} />
    </Group>
  );
}

/** Clears it, with a way back: the same commit fetched again. */
function useClear(cached: CachedCommit) {
  const clear = useClearCached();
  const cache = useCacheCommit();
  const fetchAgain = () => {
    const { project, dataset, commit_id, volume } = cached;
    tell(cache.mutateAsync({ project, dataset: `${dataset}@${commit_id}`, volume }));
  };
  const start = () =>
    tell(clear.mutateAsync(cached.id), () =>
      notifyUndo(`${cached.dataset} is cleared from ${cached.volume}; the lake keeps it.`, fetchAgain),
    );
  return { start, busy: clear.isPending };
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

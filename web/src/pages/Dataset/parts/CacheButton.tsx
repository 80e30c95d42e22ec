import { Button, Menu } from "@mantine/core";
import { IconChevronDown, IconRipple } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";
import { useCacheCommit } from "../../../api/caches";
import type { DatasetPlace } from "../../../api/datasets";
import { useMay } from "../../../api/session";
import type { Commit, Volume } from "../../../api/shapes";
import { volumesQuery } from "../../../api/volumes";
import { notifyDone, tell } from "../../../components/notify";
import { formatBytes } from "../../../lib/quantity";

interface Props {
  commit: Commit;
  place: DatasetPlace;
}

/** One click with one volume left to choose; with several, a second click says which. */
export function CacheButton({ commit, place }: Props) {
  const may = useMay(place.project, "member");
  const cache = useCacheCommit();
  const volumes = useQuery(volumesQuery).data?.items ?? [];
  const taken = commit.cached_on.filter((cached) => cached.state !== "failed").map((cached) => cached.volume);
  const left = volumes.filter((volume) => !taken.includes(volume.name));
  if (!may || (volumes.length > 0 && left.length === 0)) return null;

  const start = (volume?: string) =>
    tell(
      cache.mutateAsync({ project: place.project, dataset: `${place.dataset}@${commit.id}`, volume }),
      ({ started, cached }) =>
        notifyDone(started ? `Caching on ${cached.volume}.` : `It is on ${cached.volume} already.`),
    );
  if (left.length <= 1) {
    return (
      <Button
        variant="light"
        leftSection={<IconRipple size={16} aria-hidden />}
        loading={cache.isPending}
        onClick={() => start(left[0]?.name)}
      >
        {volumes.length > 1 ? `Cache on ${left[0]?.name}` : "Cache"}
      </Button>
    );
  }
  return (
    <Menu position="bottom-end">
      <Menu.Target>
        <Button
          variant="light"
          leftSection={<IconRipple size={16} aria-hidden />}
          rightSection={<IconChevronDown size={16} aria-hidden />}
          loading={cache.isPending}
        >
          Cache
        </Button>
      </Menu.Target>
      <Menu.Dropdown>
        <Menu.Label>On which volume</Menu.Label>
        {left.map((volume) => (
          <VolumeItem key={volume.id} volume={volume} onClick={() => start(volume.name)} />
        ))}
      </Menu.Dropdown>
    </Menu>
  );
}

function VolumeItem({ volume, onClick }: { volume: Volume; onClick: () => void }) {
  const state = volume.connected ? `${formatBytes(volume.free_bytes)} free` : "away";
  return (
    <Menu.Item onClick={onClick}>
      {volume.name} at {volume.site}, {state}
    </Menu.Item>
  );
}

import { Button, Menu, Text, Tooltip } from "@mantine/core";
import { IconChevronDown, IconRipple } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { offersQuery } from "../../../api/cachePlans";
import { useCacheCommit, useClearCached } from "../../../api/caches";
import type { DatasetPlace } from "../../../api/datasets";
import { useMay } from "../../../api/session";
import type { CacheOffer, Commit, Volume } from "../../../api/shapes";
import { topologyQuery } from "../../../api/topology";
import { volumesQuery } from "../../../api/volumes";
import { notifyDone, notifyUndo, tell } from "../../../components/notify";
import { formatBytes } from "../../../lib/quantity";
import { wordsOf } from "./offers";

const HOVERED = { hover: true, focus: true, touch: false };

interface Props {
  commit: Commit;
  place: DatasetPlace;
}

/** One click caches on the nearest volume; the menu beside it chooses another. */
export function CacheButton({ commit, place }: Props) {
  const may = useMay(place.project, "member");
  const volumes = useQuery(volumesQuery).data?.items ?? [];
  const { start, busy } = useCaching(commit, place);
  const { offerOf, wonder } = useOffers(commit, place);
  const taken = commit.cached_on.filter((cached) => cached.state !== "failed").map((cached) => cached.volume);
  const without = volumes.filter((volume) => !taken.includes(volume.name));
  const left = without.filter((volume) => volume.connected);
  const only = offerOf(left[0]?.name);
  if (!may || (volumes.length > 0 && without.length === 0)) return null;
  if (without.length > 0 && left.length === 0) return <NoneConnected volumes={without} />;
  if (left.length <= 1) {
    return (
      <Tooltip label={only ? wordsOf(only) : "…"} disabled={!only} multiline maw={360} events={HOVERED}>
        <Button
          variant="light"
          leftSection={<IconRipple size={16} aria-hidden />}
          loading={busy}
          onMouseEnter={wonder}
          onFocus={wonder}
          onClick={() => start({ volume: left[0]?.name })}
        >
          {volumes.length > 1 ? `Cache on ${left[0]?.name}` : "Cache"}
        </Button>
      </Tooltip>
    );
  }
  const choices = (
    <Menu.Dropdown mah={420} style={{ overflowY: "auto" }}>
      <Menu.Label>Cache on</Menu.Label>
      {left.map((volume) => (
        <VolumeItem
          key={volume.id}
          volume={volume}
          offer={offerOf(volume.name)}
          onClick={() => start({ volume: volume.name })}
        />
      ))}
      <NearItems onChoose={(near) => start({ near })} />
    </Menu.Dropdown>
  );
  // The nearest one has it already: which other one is meant has to be said.
  if (taken.length > 0) {
    return (
      <Menu position="bottom-end" width={380} onOpen={wonder}>
        <Menu.Target>
          <Button
            variant="light"
            leftSection={<IconRipple size={16} aria-hidden />}
            rightSection={<IconChevronDown size={16} aria-hidden />}
            loading={busy}
          >
            Cache elsewhere
          </Button>
        </Menu.Target>
        {choices}
      </Menu>
    );
  }
  return (
    <Button.Group>
      <Tooltip label="Cache on the nearest volume with room" events={HOVERED}>
        <Button
          variant="light"
          leftSection={<IconRipple size={16} aria-hidden />}
          loading={busy}
          onClick={() => start({})}
        >
          Cache
        </Button>
      </Tooltip>
      <Menu position="bottom-end" width={380} onOpen={wonder}>
        <Menu.Target>
          <Button variant="light" px="xs" aria-label="Choose where to cache" disabled={busy}>
            <IconChevronDown size={16} aria-hidden />
          </Button>
        </Menu.Target>
        {choices}
      </Menu>
    </Button.Group>
  );
}

/** Nothing can be filled there now; why is said to those who look at the button, also by keyboard. */
function NoneConnected({ volumes }: { volumes: Volume[] }) {
  const names = volumes.map((volume) => volume.name).join(", ");
  return (
    <Tooltip label={`${names}: not connected. Check its agent.`} events={HOVERED}>
      <Button variant="light" leftSection={<IconRipple size={16} aria-hidden />} data-disabled aria-disabled>
        Cache
      </Button>
    </Tooltip>
  );
}

/** Asks for the commit, and says what the server answers: where it goes, how much room there is, and why there. */
function useCaching(commit: Commit, place: DatasetPlace) {
  const cache = useCacheCommit();
  const clear = useClearCached();
  const start = (where: { volume?: string; near?: string }) =>
    tell(
      cache.mutateAsync({ project: place.project, dataset: `${place.dataset}@${commit.id}`, ...where }),
      ({ started, cached, reasons }) => {
        const where = started ? `Caching on ${cached.volume}` : `Already cached on ${cached.volume}`;
        const said = [where, ...reasons].join("; ");
        if (!started) return notifyDone(said);
        const undo = () =>
          tell(clear.mutateAsync(cached.id), () => notifyDone(`No longer cached on ${cached.volume}`));
        return notifyUndo(said, () => void undo());
      },
    );
  return { start, busy: cache.isPending };
}

/** What each volume would answer, asked once somebody comes near the button. */
function useOffers(commit: Commit, place: DatasetPlace) {
  const [wondered, setWondered] = useState(false);
  const query = offersQuery(place.project, `${place.dataset}@${commit.id}`);
  const offers = useQuery({ ...query, enabled: wondered }).data?.items;
  const offerOf = (volume?: string) => offers?.find((offer) => offer.volume === volume);
  return { offerOf, wonder: () => setWondered(true) };
}

function VolumeItem(props: { volume: Volume; offer?: CacheOffer; onClick: () => void }) {
  const { volume, offer, onClick } = props;
  return (
    <Menu.Item onClick={onClick}>
      {volume.name} at {volume.site}, {formatBytes(volume.free_bytes)} free
      {offer && (
        <Text size="xs" c={offer.answer === "refused" ? "red" : "dimmed"}>
          {wordsOf(offer)}
        </Text>
      )}
    </Menu.Item>
  );
}

/** Computes, each with the volumes that serve it: the server takes the best of them. */
function NearItems({ onChoose }: { onChoose: (compute: string) => void }) {
  const computes = useQuery(topologyQuery).data?.computes ?? [];
  const served = computes
    .map(({ name, volumes }) => ({
      name,
      volumes: volumes.filter((volume) => volume.serves).map((volume) => volume.volume),
    }))
    .filter(({ volumes }) => volumes.length > 0);
  if (served.length === 0) return null;
  return (
    <>
      <Menu.Label>Near a compute</Menu.Label>
      {served.map(({ name, volumes }) => (
        <Menu.Item key={name} onClick={() => onChoose(name)}>
          {name}, which uses {volumes.join(", ")}
        </Menu.Item>
      ))}
    </>
  );
}

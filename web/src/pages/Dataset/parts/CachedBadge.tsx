import { Group, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { cachesOfDatasetQuery } from "../../../api/caches";
import type { DatasetPlace } from "../../../api/datasets";
import type { CachedOn, CachedState } from "../../../api/shapes";
import { Status } from "../../../components/Status";
import { Time } from "../../../components/Time";
import { CachedActions } from "../../Cache/parts/CachedActions";
import { FillProgress } from "../../Cache/parts/FillProgress";
import { shownState } from "../../Cache/parts/state";

/** Where a commit is cached, or how far being cached there; and what may be done about it. */
export function CachedBadge({ cached, place }: { cached: CachedOn; place: DatasetPlace }) {
  const listed = useQuery(cachesOfDatasetQuery(place)).data?.items;
  const whole = listed?.find((one) => one.id === cached.cached_id);
  return (
    <Group gap="xs" data-testid="cached-badge">
      <Text size="sm" fw={600}>
        {cached.volume}
      </Text>
      <Status state={whole ? shownState(whole) : (cached.state as CachedState)} />
      {cached.state === "filling" && <FillProgress fill={whole ?? cached} />}
      {whole?.pinned && <Text size="sm">pinned</Text>}
      {whole && whole.leased_by.length > 0 && <Text size="sm">in use</Text>}
      {whole && whole.kept_by.length > 0 && <Text size="sm">kept</Text>}
      {whole?.expires_at && (
        <Text size="sm" c="dimmed">
          <Time at={whole.used_at} prefix="used " />, <Time at={whole.expires_at} prefix="goes " />
        </Text>
      )}
      {whole?.problem && (
        <Text size="sm" c="red.9">
          {whole.problem}
        </Text>
      )}
      {whole && <CachedActions cached={whole} />}
    </Group>
  );
}

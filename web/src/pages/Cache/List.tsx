import { Group, Select, Stack, Text } from "@mantine/core";
import { IconRipple } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import type { CacheFilter } from "../../api/caches";
import { datasetTotalsQuery } from "../../api/datasets";
import type { Volume } from "../../api/shapes";
import { volumesQuery } from "../../api/volumes";
import { EmptyState } from "../../components/EmptyState";
import { Filter } from "../../components/Filter";
import { Loaded } from "../../components/Loaded";
import { PageHeader } from "../../components/PageHeader";
import { ProjectSelect } from "../../components/ProjectSelect";
import { TabBar } from "../../components/TabBar";
import { WaitingCards } from "../../components/Waiting";
import { formatUsed } from "../../lib/quantity";
import { CachedCommits } from "./parts/CachedCommits";
import { EvictionParts } from "./parts/EvictionParts";
import { Policies } from "./parts/Policies";
import { RunningFills } from "./parts/RunningFills";
import { Summary } from "./parts/Summary";
import { NewVolumeButton } from "./parts/VolumeActions";
import { VolumeCards } from "./parts/VolumeCards";
import { CACHE_TABS, type CacheTab, TAB_LABELS } from "./tabs";

const route = getRouteApi("/in/caches");

export function CacheList() {
  const volumes = useQuery(volumesQuery);
  const totals = useQuery(datasetTotalsQuery(route.useSearch().project)).data;
  return (
    <>
      <PageHeader
        title="Caches"
        actions={<NewVolumeButton />}
        below={
          totals && (
            <Text c="dimmed">
              {totals.volumes_connected} NFS Connected ·{" "}
              {formatUsed(totals.cached_bytes, totals.volume_bytes)} used by cached commits
            </Text>
          )
        }
      />
      <Loaded result={volumes} waiting={<WaitingCards height={180} />}>
        {({ items }) =>
          items.length === 0 ? (
            <EmptyState
              docs="caches/"
              icon={IconRipple}
              sentence="A volume is a directory beside the compute, normally an NFS mount, that keeps commits near the jobs that read them."
              action={<NewVolumeButton />}
              command="mill volume add fast /mnt/fast"
            />
          ) : (
            <Overview volumes={items} />
          )
        }
      </Loaded>
    </>
  );
}

function Overview({ volumes }: { volumes: Volume[] }) {
  const { tab = "commits", page, ...filter } = route.useSearch();
  const navigate = route.useNavigate();
  const show = (chosen: CacheTab) =>
    navigate({ search: { ...filter, tab: chosen === "commits" ? undefined : chosen }, resetScroll: false });
  return (
    <Stack gap="lg">
      <Summary />
      <RunningFills />
      <TabBar label="Caches" tabs={CACHE_TABS} names={TAB_LABELS} value={tab} onChange={show}>
        {(tab === "commits" || tab === "files") && (
          <CachedCommits
            filter={filter}
            kind={tab === "files" ? "jobs" : "data"}
            narrowing={<Narrowing volumes={volumes} />}
            page={page}
            onTurn={(number) =>
              navigate({ search: (before) => ({ ...before, page: number }), resetScroll: false })
            }
          />
        )}
        {tab === "volumes" && <VolumeCards volumes={volumes} />}
        {tab === "branches" && <Policies filter={{ volume: filter.volume }} />}
        {tab === "evictions" && <EvictionParts volume={filter.volume} />}
      </TabBar>
    </Stack>
  );
}

/** Which cached commits are listed; in the address, so that a list can be sent to a colleague. */
function Narrowing({ volumes }: { volumes: Volume[] }) {
  const { page: _, ...filter } = route.useSearch();
  const navigate = route.useNavigate();
  const change = (part: CacheFilter) =>
    navigate({ search: { ...filter, ...part }, replace: true, resetScroll: false });
  return (
    <Group gap="xs">
      <Filter
        label="Dataset"
        value={filter.dataset ?? ""}
        onChange={(dataset) => change({ dataset: dataset || undefined })}
      />
      <ProjectSelect value={filter.project} onChange={(project) => change({ project })} />
      {volumes.length > 1 && (
        <Select
          aria-label="Volume"
          placeholder="All volumes"
          data={volumes.map((volume) => volume.name)}
          value={filter.volume ?? null}
          onChange={(volume) => change({ volume: volume ?? undefined })}
          clearable
          clearButtonProps={{ "aria-label": "All volumes" }}
          w={180}
        />
      )}
    </Group>
  );
}

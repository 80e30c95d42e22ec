import { Group, Paper, Stack, Text, Title } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { isNotFound } from "../../api/problem";
import type { Volume } from "../../api/shapes";
import { volumeQuery } from "../../api/volumes";
import { CommandLine } from "../../components/Copyable";
import { Facts } from "../../components/Facts";
import { Loaded } from "../../components/Loaded";
import { NotFound } from "../../components/NotFound";
import { PageHeader } from "../../components/PageHeader";
import { Status } from "../../components/Status";
import { TabBar } from "../../components/TabBar";
import { TextLink } from "../../components/TextLink";
import { Time } from "../../components/Time";
import { shellQuote } from "../../lib/names";
import { formatSeconds } from "../../lib/quantity";
import { trustWords } from "../../lib/trust";
import { CachedCommits } from "./parts/CachedCommits";
import { EvictionParts } from "./parts/EvictionParts";
import { Features } from "./parts/Features";
import { Limits } from "./parts/Limits";
import { Policies } from "./parts/Policies";
import { RunningFills } from "./parts/RunningFills";
import { enforcementWords } from "./parts/tierWords";
import { UsageCharts } from "./parts/UsageCharts";
import { VolumeActions } from "./parts/VolumeActions";
import { VolumeSpace } from "./parts/VolumeSpace";
import { TAB_LABELS, VOLUME_TABS, type VolumeTab } from "./tabs";

const route = getRouteApi("/in/caches/$volume");

export function VolumeDetails() {
  const { volume: name } = route.useParams();
  const result = useQuery(volumeQuery(name));
  if (isNotFound(result.error)) return <NotFound />;
  return (
    <>
      <PageHeader
        title={name}
        above={
          <TextLink to="/caches" size="sm">
            Caches
          </TextLink>
        }
        below={result.data && <Status state={result.data.connected ? "connected" : "away"} />}
        actions={result.data && <VolumeActions volume={result.data} />}
      />
      <Loaded result={result}>{(volume) => <Details volume={volume} />}</Loaded>
    </>
  );
}

function Details({ volume }: { volume: Volume }) {
  const { range = "day", tab = "overview", page } = route.useSearch();
  const navigate = route.useNavigate();
  const show = (chosen: VolumeTab) =>
    navigate({ search: { range, tab: chosen === "overview" ? undefined : chosen }, resetScroll: false });
  return (
    <TabBar label={volume.name} tabs={VOLUME_TABS} names={TAB_LABELS} value={tab} onChange={show}>
      {tab === "overview" && (
        <Stack gap="xl">
          <About volume={volume} />
          <RunningFills volume={volume.name} />
          <UsageCharts
            volume={volume.name}
            range={range}
            onRange={(chosen) => navigate({ search: { range: chosen }, replace: true, resetScroll: false })}
          />
        </Stack>
      )}
      {(tab === "commits" || tab === "files") && (
        <CachedCommits
          filter={{ volume: volume.name }}
          kind={tab === "files" ? "jobs" : "data"}
          page={page}
          onTurn={(number) => navigate({ search: { range, tab, page: number }, resetScroll: false })}
        />
      )}
      {tab === "branches" && <Policies filter={{ volume: volume.name }} />}
      {tab === "evictions" && <EvictionParts volume={volume.name} />}
      {tab === "limits" && <Limits volume={volume} />}
    </TabBar>
  );
}

function About({ volume }: { volume: Volume }) {
  return (
    <Paper withBorder p="md" component="section" aria-label={`About ${volume.name}`} data-testid="volume">
      <Stack>
        <Facts facts={factsOf(volume)} />
        <VolumeSpace volume={volume} />
        <div>
          <Title order={2} size="h6" mb={6}>
            File system
          </Title>
          <Features features={volume.features} />
        </div>
        <Group justify="space-between">
          <Text size="xs" c="dimmed">
            The same on the command line
          </Text>
          <CommandLine command={`mill volume show ${shellQuote(volume.name)}`} />
        </Group>
      </Stack>
    </Paper>
  );
}

function factsOf(volume: Volume) {
  return [
    { name: "Directory", value: <span className="mono">{volume.path}</span> },
    {
      name: "Site",
      value: (
        <TextLink to="/topology" size="sm">
          {volume.site}
        </TextLink>
      ),
    },
    { name: "Tier", value: tierOf(volume) },
    { name: "Throughput of the tier", value: enforcementWords(volume) },
    ...(volume.tier_by
      ? [{ name: "Tier set by", value: <span className="mono">{volume.tier_by}</span> }]
      : []),
    { name: "Filled by", value: volume.filler ?? "–" },
    { name: "Who can read it", value: trustWords(volume.trust) },
    { name: "Cleared when unused for", value: formatSeconds(volume.idle_seconds) },
    { name: "Evicts early", value: `above ${volume.high_percent} %, down to ${volume.low_percent} %` },
    { name: "Seen", value: <Time at={volume.seen_at} /> },
  ];
}

/** `premium: 4 × the throughput, 2 × the price`; the standard one is its own measure. */
export function tierOf({ tier, tier_throughput, tier_price }: Volume): string {
  if (tier_throughput === 1 && tier_price === 1) return tier;
  return `${tier}: ${tier_throughput} × the throughput, ${tier_price} × the price`;
}

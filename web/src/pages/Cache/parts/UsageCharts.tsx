import { Group, SegmentedControl, SimpleGrid, Stack, Text, Title } from "@mantine/core";
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import type { VolumeUsage } from "../../../api/shapes";
import { volumeUsageQuery } from "../../../api/usage";
import { Chart, type ChartData } from "../../../components/Chart";
import { CommandLine } from "../../../components/Copyable";
import { Facts } from "../../../components/Facts";
import { Loaded } from "../../../components/Loaded";
import { useNow } from "../../../hooks/useNow";
import { shellQuote } from "../../../lib/names";
import { formatBytes, formatRate, formatSeconds } from "../../../lib/quantity";
import { RANGE_OPTIONS, RANGE_SECONDS, RANGE_WORDS, USAGE_RANGES, type UsageRange } from "./ranges";
import { rateOf } from "./Summary";

const bytes = (value: number) => formatBytes(Math.round(value));
const count = (value: number) => value.toLocaleString("en");

interface Props {
  volume: string;
  range: UsageRange;
  onRange: (range: UsageRange) => void;
}

/** How full a volume was, and how often what was asked for was there. */
export function UsageCharts({ volume, range, onRange }: Props) {
  const result = useQuery({
    ...volumeUsageQuery(volume, RANGE_SECONDS[range]),
    placeholderData: keepPreviousData,
  });
  return (
    <section>
      <Group justify="space-between" mb="xs">
        <Title order={2} size="h4">
          Over time
        </Title>
        <SegmentedControl
          aria-label="How far back"
          value={range}
          onChange={(value) => onRange(value as UsageRange)}
          data={USAGE_RANGES.map((value) => ({ value, label: RANGE_WORDS[value] }))}
        />
      </Group>
      <Stack>
        <Loaded result={result}>{(usage) => <Charts usage={usage} range={range} />}</Loaded>
        <CommandLine command={`mill volume usage ${shellQuote(volume)} --last ${RANGE_OPTIONS[range]}`} />
      </Stack>
    </section>
  );
}

function Charts({ usage, range }: { usage: VolumeUsage; range: UsageRange }) {
  const now = useNow(60_000).getTime() / 1000;
  const space = useMemo(() => over(spaceOf(usage), now, range), [usage, now, range]);
  const uses = useMemo(() => over(usesOf(usage), now, range), [usage, now, range]);
  if (usage.samples.length === 0) {
    return <Text size="sm">Nothing was noted in this time: a volume is looked at every minute.</Text>;
  }
  return (
    <>
      <Facts facts={factsOf(usage)} />
      <SimpleGrid cols={{ base: 1, md: 2 }}>
        <Chart title="Space" data={space} format={bytes} />
        {usage.hours.length > 0 && <Chart title="Asked for, by the hour" data={uses} format={count} />}
      </SimpleGrid>
    </>
  );
}

/** The whole time that was asked for, although a young volume has points only at its end. */
function over(data: ChartData, now: number, range: UsageRange): ChartData {
  return { ...data, fromZero: true, span: [now - RANGE_SECONDS[range], now] };
}

function factsOf({ total, bandwidth }: VolumeUsage) {
  return [
    { name: "Hit rate", value: rateOf(total) },
    { name: "Not fetched again", value: formatBytes(total.saved_bytes) },
    { name: "Time saved", value: formatSeconds(total.saved_seconds) },
    { name: "Fills", value: `${count(total.fills)}, ${formatBytes(total.filled_bytes)}` },
    ...bandwidth.map(({ source, bytes_per_second }) => ({
      name: `Measured from ${source === "lake" ? "the lake" : source}`,
      value: formatRate(bytes_per_second),
    })),
  ];
}

export function spaceOf({ samples }: VolumeUsage): ChartData {
  return {
    x: samples.map((sample) => Date.parse(sample.at) / 1000),
    time: true,
    lines: [
      { label: "used", values: samples.map((sample) => sample.used_bytes) },
      { label: "promised to fills", values: samples.map((sample) => sample.reserved_bytes) },
      { label: "free", values: samples.map((sample) => sample.free_bytes) },
    ],
  };
}

export function usesOf({ hours }: VolumeUsage): ChartData {
  return {
    x: hours.map((hour) => Date.parse(hour.at) / 1000),
    time: true,
    lines: [
      { label: "hits", values: hours.map((hour) => hour.hits) },
      { label: "misses", values: hours.map((hour) => hour.misses) },
    ],
  };
}

import { Group, SegmentedControl, Title } from "@mantine/core";
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import type { ShareSample } from "../../../api/shapes";
import { sharesHistoryQuery } from "../../../api/shares";
import { Chart, type ChartData } from "../../../components/Chart";
import { Loaded } from "../../../components/Loaded";
import { useNow } from "../../../hooks/useNow";
import { roundGpus } from "../../../lib/quantity";
import { RANGE_SECONDS, RANGE_WORDS, SHARES_RANGES, type SharesRange } from "../tabs";

interface Props {
  project: string | undefined;
  range: SharesRange;
  onRange: (range: SharesRange) => void;
}

/** GPUs by project over time, one on the other. */
export function SharesChart({ project, range, onRange }: Props) {
  const result = useQuery({ ...sharesHistoryQuery(RANGE_SECONDS[range]), placeholderData: keepPreviousData });
  return (
    <section>
      <Group justify="space-between" mb="xs">
        <Title order={2} size="h4">
          GPUs over time
        </Title>
        <SegmentedControl
          aria-label="How far back"
          value={range}
          onChange={(value) => onRange(value as SharesRange)}
          data={SHARES_RANGES.map((value) => ({ value, label: RANGE_WORDS[value] }))}
        />
      </Group>
      <Loaded result={result}>
        {({ items }) => <Drawn history={items} project={project} range={range} />}
      </Loaded>
    </section>
  );
}

function Drawn({
  history,
  project,
  range,
}: {
  history: ShareSample[];
  project?: string;
  range: SharesRange;
}) {
  const now = useNow(60_000).getTime() / 1000;
  const data = useMemo(() => {
    const span = [now - RANGE_SECONDS[range], now] as const;
    return { ...allocatedBy(history, project), span };
  }, [history, project, now, range]);
  return <Chart title="Allocated GPUs by project" data={data} format={roundGpus} />;
}

type Allocated = Pick<ShareSample, "at" | "project" | "allocated">;

/** The projects that had GPUs in this time, in the order of their names. */
export function allocatedBy(samples: readonly Allocated[], project?: string): ChartData {
  const shown = samples.filter((sample) => project === undefined || sample.project === project);
  const times = [...new Set(samples.map((sample) => sample.at))].sort();
  const names = [...new Set(shown.map((sample) => sample.project))].sort();
  const lines = names.map((label) => {
    const held = new Map<string, number>();
    for (const sample of shown) {
      if (sample.project === label) held.set(sample.at, (held.get(sample.at) ?? 0) + sample.allocated);
    }
    return { label, values: times.map((at) => held.get(at) ?? 0) };
  });
  return {
    x: times.map((at) => Date.parse(at) / 1000),
    time: true,
    stacked: true,
    fromZero: true,
    lines: lines.filter(({ values }) => values.some((value) => value > 0)),
  };
}

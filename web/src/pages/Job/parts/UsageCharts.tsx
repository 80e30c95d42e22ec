import { SimpleGrid, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import { usageQuery } from "../../../api/jobs";
import type { Job, Usage } from "../../../api/shapes";
import { Chart, type ChartData } from "../../../components/Chart";
import { Loaded } from "../../../components/Loaded";
import { WaitingCards } from "../../../components/Waiting";
import { formatBytes } from "../../../lib/quantity";
import { perSecond } from "./rates";
import { isFinished } from "./states";

const percent = (value: number) => `${Math.round(value * 10) / 10} %`;
const bytes = (value: number) => formatBytes(Math.round(value));
const rate = (value: number) => `${formatBytes(Math.round(value))}/s`;

/** CPU, memory, block I/O, network and, where there is one, the GPU. */
export function UsageCharts({ job }: { job: Job }) {
  const result = useQuery({
    ...usageQuery({ project: job.project, job: job.id }),
    enabled: job.started_at !== null,
    refetchInterval: isFinished(job.state) ? false : 5_000,
  });
  const charts = useMemo(() => chartsOf(result.data?.items ?? []), [result.data]);
  if (job.started_at === null) return <Text>Resource use is measured while the job runs.</Text>;
  if (result.data?.items.length === 0) return <Text>No measurements. The job ended within seconds.</Text>;
  return (
    <Loaded result={result} waiting={<WaitingCards height={210} />}>
      {() => <Charts charts={charts} />}
    </Loaded>
  );
}

function Charts({ charts }: { charts: ReturnType<typeof chartsOf> }) {
  return (
    <section aria-label="Resources">
      <SimpleGrid minColWidth={320}>
        <Chart title="CPU" data={charts.cpu} format={percent} />
        <Chart title="Memory" data={charts.memory} format={bytes} />
        <Chart title="Block IO" data={charts.io} format={rate} />
        {charts.network && <Chart title={charts.networkTitle} data={charts.network} format={rate} />}
        {charts.gpu && <Chart title="GPU" data={charts.gpu} format={percent} />}
        {charts.gpuMemory && <Chart title="GPU Memory" data={charts.gpuMemory} format={bytes} />}
      </SimpleGrid>
    </section>
  );
}

function chartsOf(samples: Usage[]) {
  const x = samples.map((sample) => Date.parse(sample.at) / 1000);
  const over = (lines: ChartData["lines"]): ChartData => ({ x, time: true, fromZero: true, lines });
  const values = (read: (sample: Usage) => number | null | undefined) => samples.map((s) => read(s) ?? null);
  const counted = (label: string, read: (sample: Usage) => number) => ({
    label,
    values: perSecond(x, samples.map(read)),
  });
  const hasNetwork = samples.some((sample) => sample.received_bytes != null);
  const hasGpu = samples.some((sample) => sample.gpu_percent != null);
  const hasGpuMemory = samples.some((sample) => sample.gpu_memory_bytes != null);
  return {
    cpu: over([{ label: "CPU", values: values((s) => s.cpu_percent) }]),
    memory: over([{ label: "Memory", values: values((s) => s.memory_bytes) }]),
    io: over([counted("read", (s) => s.read_bytes), counted("write", (s) => s.write_bytes)]),
    network: hasNetwork
      ? over([counted("received", (s) => s.received_bytes ?? 0), counted("sent", (s) => s.sent_bytes ?? 0)])
      : null,
    // Nobody can tell whose bytes they were where a job shares the machine's network.
    networkTitle: samples.some((sample) => sample.network_shared) ? "Network of the machine" : "Network",
    gpu: hasGpu ? over([{ label: "GPU", values: values((s) => s.gpu_percent) }]) : null,
    gpuMemory: hasGpuMemory
      ? over([{ label: "GPU memory", values: values((s) => s.gpu_memory_bytes) }])
      : null,
  };
}

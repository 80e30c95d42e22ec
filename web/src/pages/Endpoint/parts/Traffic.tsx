import { Group, SegmentedControl, SimpleGrid, Stack, Text, Title } from "@mantine/core";
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { trafficQuery } from "../../../api/endpoints";
import type { Endpoint, EndpointMetrics } from "../../../api/shapes";
import { Chart } from "../../../components/Chart";
import { CommandLine } from "../../../components/Copyable";
import { Facts } from "../../../components/Facts";
import { Loaded } from "../../../components/Loaded";
import { formatNumber } from "../../../lib/metric";
import { byVersion, inAll, totalsOf } from "./traffic";

const RANGES = { "15m": 900, "1h": 3600, "6h": 21_600, "1d": 86_400, "7d": 604_800 } as const;
type Range = keyof typeof RANGES;

const ms = (value: number) => `${formatNumber(value)} ms`;
const share = (value: number) => `${formatNumber(value)} %`;

/** Requests, errors, latency, batches and replicas over time, as the routers of the sites saw them. */
export function Traffic({ endpoint }: { endpoint: Endpoint }) {
  const [range, setRange] = useState<Range>("1h");
  const place = { project: endpoint.project, endpoint: endpoint.name };
  const result = useQuery({ ...trafficQuery(place, RANGES[range]), placeholderData: keepPreviousData });
  return (
    <Stack>
      <Group justify="space-between">
        <Title order={2} size="h5">
          Over time
        </Title>
        <SegmentedControl
          aria-label="How far back"
          value={range}
          onChange={(value) => setRange(value as Range)}
          data={Object.keys(RANGES)}
        />
      </Group>
      <Loaded result={result}>{(metrics) => <Charts metrics={metrics} />}</Loaded>
      <CommandLine command={`mill endpoint metrics ${endpoint.name} --since ${range}`} />
    </Stack>
  );
}

function Charts({ metrics }: { metrics: EndpointMetrics }) {
  if (metrics.points.length === 0) {
    return <Text size="sm">No requests in this time. Routers tell of them within seconds.</Text>;
  }
  const { requests, errors, p95 } = totalsOf(metrics);
  return (
    <>
      <Facts
        facts={[
          { name: "Requests", value: requests.toLocaleString("en") },
          { name: "Failed", value: errors.toLocaleString("en") },
          { name: "p95 now", value: p95 === null ? "–" : ms(p95) },
        ]}
      />
      <SimpleGrid cols={{ base: 1, md: 2 }}>
        <Chart
          title="Requests per second"
          data={byVersion(metrics, (point) => point.requests_per_second)}
          format={formatNumber}
        />
        <Chart
          title="Failed, of all requests"
          data={byVersion(metrics, (point) =>
            point.requests > 0 ? (100 * point.errors) / point.requests : null,
          )}
          format={share}
        />
        <Chart title="Latency, p50" data={byVersion(metrics, (point) => point.p50_ms)} format={ms} />
        <Chart title="Latency, p95" data={byVersion(metrics, (point) => point.p95_ms)} format={ms} />
        <Chart title="Latency, p99" data={byVersion(metrics, (point) => point.p99_ms)} format={ms} />
        <Chart
          title="Batch size, on average"
          data={byVersion(metrics, (point) => point.batch_size)}
          format={formatNumber}
        />
        <Chart
          title="Wait inside replicas, on average"
          data={byVersion(metrics, (point) => point.queue_ms)}
          format={ms}
        />
        <Chart
          title="Replicas and requests in them"
          data={inAll(metrics, {
            "replicas ready": (point) => point.replicas,
            "requests under way": (point) => point.outstanding,
            "requests held": (point) => point.held,
          })}
          format={formatNumber}
        />
      </SimpleGrid>
    </>
  );
}

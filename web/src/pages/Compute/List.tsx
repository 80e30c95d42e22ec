import { Group, Paper, Stack, Table, Text, Title } from "@mantine/core";
import { IconCpu } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";
import { computesQuery } from "../../api/computes";
import type { Compute } from "../../api/shapes";
import { EmptyState } from "../../components/EmptyState";
import { Loaded } from "../../components/Loaded";
import { PageHeader } from "../../components/PageHeader";
import { Status } from "../../components/Status";
import { Time } from "../../components/Time";
import { formatBytes, formatGpus } from "../../lib/quantity";

export function ComputeList() {
  const result = useQuery(computesQuery);
  return (
    <>
      <PageHeader title="Compute" />
      <Loaded result={result}>
        {({ items }) =>
          items.length === 0 ? (
            <EmptyState
              icon={IconCpu}
              sentence="No agent has reported yet: it speaks for the machines of a site, and only ever connects outwards."
              command="mill up"
            />
          ) : (
            <Stack>
              {items.map((compute) => (
                <ComputeCard key={compute.id} compute={compute} />
              ))}
            </Stack>
          )
        }
      </Loaded>
    </>
  );
}

function ComputeCard({ compute }: { compute: Compute }) {
  return (
    <Paper withBorder p="md" component="section" data-testid="compute">
      <Group justify="space-between" mb="sm">
        <div>
          <Title order={2} size="h4">
            {compute.name}
          </Title>
          <Text size="sm" c="dimmed" component="div">
            site {compute.site} · driver {compute.driver} · version {compute.version} ·{" "}
            <Time at={compute.seen_at} prefix="seen " />
          </Text>
        </div>
        <Status state={compute.connected ? "connected" : "away"} />
      </Group>
      <Nodes compute={compute} />
    </Paper>
  );
}

function Nodes({ compute }: { compute: Compute }) {
  return (
    <Table aria-label={`Nodes of ${compute.name}`}>
      <Table.Thead>
        <Table.Tr>
          <Table.Th>Node</Table.Th>
          <Table.Th>Jobs</Table.Th>
          <Table.Th>CPUs used</Table.Th>
          <Table.Th>Memory used</Table.Th>
          <Table.Th>GPUs used</Table.Th>
        </Table.Tr>
      </Table.Thead>
      <Table.Tbody>
        {compute.nodes.map((node) => (
          <Table.Tr key={node.name}>
            <Table.Td>
              {node.name}
              {node.declared && " (declared)"}
            </Table.Td>
            <Table.Td>{node.running}</Table.Td>
            <Table.Td>
              {node.cpu_used} / {node.cpus}
            </Table.Td>
            <Table.Td>
              {formatBytes(node.memory_used_bytes)} / {formatBytes(node.memory_bytes)}
            </Table.Td>
            <Table.Td>
              {node.gpus === 0
                ? "no GPU"
                : `${formatGpus(node.gpu_used_hundredths)} / ${node.gpus} ${node.gpu_model}`}
            </Table.Td>
          </Table.Tr>
        ))}
      </Table.Tbody>
    </Table>
  );
}

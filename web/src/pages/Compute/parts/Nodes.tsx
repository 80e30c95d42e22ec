import { Badge, Group, Paper, Stack, Table, Text, Title } from "@mantine/core";
import { IconBarrierBlock } from "@tabler/icons-react";
import type { Compute, Node } from "../../../api/shapes";
import { formatBytes, formatGpus } from "../../../lib/quantity";

/** The machines behind a compute, as its agent reports them. */
export function Nodes({ compute }: { compute: Compute }) {
  return (
    <section aria-label="Nodes">
      <Title order={2} size="h5" mb="sm">
        Nodes
      </Title>
      {compute.nodes.length === 0 ? (
        <Text size="sm" c="dimmed">
          No nodes yet. They appear once the agent has connected.
        </Text>
      ) : (
        <Paper withBorder>
          <Table.ScrollContainer
            minWidth={700}
            scrollAreaProps={{ viewportProps: { tabIndex: 0, "aria-label": `Nodes of ${compute.name}` } }}
          >
            <Table aria-label={`Nodes of ${compute.name}`}>
              <Table.Thead>
                <Table.Tr>
                  {["Node", "Jobs", "CPUs used", "Memory used", "GPUs used", "Labels"].map((name) => (
                    <Table.Th key={name}>{name}</Table.Th>
                  ))}
                </Table.Tr>
              </Table.Thead>
              <Table.Tbody>
                {compute.nodes.map((node) => (
                  <NodeRow key={node.name} node={node} />
                ))}
              </Table.Tbody>
            </Table>
          </Table.ScrollContainer>
        </Paper>
      )}
    </section>
  );
}

function NodeRow({ node }: { node: Node }) {
  return (
    <Table.Tr>
      <Table.Td>
        <Stack gap={2}>
          {node.name}
          {node.declared && (
            <Text size="xs" c="dimmed">
              declared, not measured
            </Text>
          )}
          <Unavailable node={node} />
        </Stack>
      </Table.Td>
      <Table.Td>{node.running}</Table.Td>
      <Table.Td>
        {node.cpu_used} of {node.cpus}
      </Table.Td>
      <Table.Td>
        {formatBytes(node.memory_used_bytes)} of {formatBytes(node.memory_bytes)}
      </Table.Td>
      <Table.Td>
        {node.gpus === 0
          ? "no GPU"
          : `${formatGpus(node.gpu_used_hundredths)} of ${node.gpus} ${node.gpu_model}`}
      </Table.Td>
      <Table.Td>
        <Group gap={4}>
          {Object.entries(node.labels ?? {}).map(([name, value]) => (
            <Badge key={name} variant="default" tt="none" fw={500}>
              {name}={value}
            </Badge>
          ))}
        </Group>
      </Table.Td>
    </Table.Tr>
  );
}

/** Why the node takes no new jobs, as its cluster or agent reports it. */
function Unavailable({ node }: { node: Node }) {
  const reason = node.left_at ? "left; its jobs still run" : node.closed && `closed: ${node.closed}`;
  if (!reason) return null;
  return (
    <Group gap={4} wrap="nowrap">
      <IconBarrierBlock size={14} aria-hidden style={{ flexShrink: 0 }} />
      <Text size="xs">{reason}</Text>
    </Group>
  );
}

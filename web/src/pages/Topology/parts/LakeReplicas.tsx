import { Paper, SimpleGrid, Text, Title } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import type { LakeReplica } from "../../../api/shapes";
import { lakeReplicasQuery } from "../../../api/topology";
import { formatBytes } from "../../../lib/quantity";

/** Copies of the lake and how far each is behind; nothing where there are none. */
export function LakeReplicas() {
  const replicas = useQuery(lakeReplicasQuery).data?.items ?? [];
  if (replicas.length === 0) return null;
  return (
    <section>
      <Title order={2} size="h4" mb="xs">
        Replicas of the lake
      </Title>
      <SimpleGrid cols={{ base: 1, md: 2 }}>
        {replicas.map((replica) => (
          <ReplicaCard key={replica.id} replica={replica} />
        ))}
      </SimpleGrid>
    </section>
  );
}

function ReplicaCard({ replica }: { replica: LakeReplica }) {
  return (
    <Paper withBorder p="md" component="section" aria-label={`Replica ${replica.name}`}>
      <Title order={3} size="h5" mb="xs">
        {replica.name}
      </Title>
      <Text size="sm" style={{ overflowWrap: "anywhere" }}>
        {replica.url}
      </Text>
      <Text size="sm" c="dimmed">
        Read by {replica.sites.join(", ") || "no site"} · {formatBytes(replica.bytes)} · {replica.state}
      </Text>
      {replica.problem && (
        <Text size="sm" c="red">
          {replica.problem}
        </Text>
      )}
    </Paper>
  );
}

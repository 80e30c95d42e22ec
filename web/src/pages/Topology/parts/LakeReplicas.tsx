import { Group, Paper, SimpleGrid, Text, Title } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useSession } from "../../../api/session";
import type { LakeReplica } from "../../../api/shapes";
import { lakeReplicasQuery } from "../../../api/topology";
import { formatBytes } from "../../../lib/quantity";
import { AddReplicaButton, RemoveReplica } from "./ReplicaForms";

/** Copies of the lake and how far each is behind; where there are none, only administrators see that. */
export function LakeReplicas({ sites }: { sites: string[] }) {
  const replicas = useQuery(lakeReplicasQuery).data?.items ?? [];
  const isAdmin = useSession()?.user.is_admin;
  if (replicas.length === 0 && !isAdmin) return null;
  return (
    <section>
      <Group justify="space-between" mb="xs">
        <Title order={2} size="h4">
          Replicas of the lake
        </Title>
        {isAdmin && <AddReplicaButton sites={sites} />}
      </Group>
      {replicas.length === 0 && (
        <Text size="sm">No replicas. One in another region is read by the sites there.</Text>
      )}
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
      <Group justify="space-between" mb="xs">
        <Title order={3} size="h5">
          {replica.name}
        </Title>
        <RemoveReplica replica={replica.name} />
      </Group>
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

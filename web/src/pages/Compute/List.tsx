import { Group, Paper, Stack, Text, Title } from "@mantine/core";
import { IconCpu } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";
import { computesQuery } from "../../api/computes";
import type { Compute } from "../../api/shapes";
import { EmptyState } from "../../components/EmptyState";
import { Loaded } from "../../components/Loaded";
import { PageHeader } from "../../components/PageHeader";
import { Status } from "../../components/Status";
import { TextLink } from "../../components/TextLink";
import { Time } from "../../components/Time";
import { plural } from "../../lib/quantity";
import { AttachButton } from "./parts/Attach";
import { ElasticComputes } from "./parts/Elastic";
import { JoinTokens } from "./parts/JoinTokens";
import { Use } from "./parts/Use";

/** Everything jobs may run on, at every site. */
export function ComputeList() {
  const result = useQuery(computesQuery);
  return (
    <>
      <PageHeader title="Compute" actions={<AttachButton />} />
      <Stack gap="xl">
        <Loaded result={result}>
          {({ items }) =>
            items.length === 0 ? (
              <EmptyState
                docs="computes/"
                icon={IconCpu}
                sentence="No compute attached yet. Attach a machine or cluster; its agent only makes outbound connections."
                action={<AttachButton />}
                command="mill compute attach ssh USER@HOST"
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
        <ElasticComputes />
        <JoinTokens />
      </Stack>
    </>
  );
}

function ComputeCard({ compute }: { compute: Compute }) {
  return (
    <Paper withBorder p="md" component="section" data-testid="compute">
      <Group justify="space-between" mb="sm" align="flex-start">
        <div>
          <Title order={2} size="h4">
            <TextLink to="/compute/$compute" params={{ compute: compute.name }}>
              {compute.name}
            </TextLink>
          </Title>
          <Text size="sm" c="dimmed" component="div">
            {compute.kind} at {compute.site} · driver {compute.driver} ·{" "}
            {plural(compute.nodes.length, "node")} · <Time at={compute.seen_at} prefix="seen " />
          </Text>
        </div>
        <Status state={compute.health} />
      </Group>
      <Use of={compute} />
    </Paper>
  );
}

import { Alert, Group, Paper, Stack, Text } from "@mantine/core";
import { IconBarrierBlock } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { computeQuery } from "../../api/computes";
import { isNotFound } from "../../api/problem";
import type { Compute } from "../../api/shapes";
import { CommandLine } from "../../components/Copyable";
import { Facts } from "../../components/Facts";
import { Loaded } from "../../components/Loaded";
import { NotFound } from "../../components/NotFound";
import { PageHeader } from "../../components/PageHeader";
import { Status } from "../../components/Status";
import { TextLink } from "../../components/TextLink";
import { Time } from "../../components/Time";
import { shellQuote } from "../../lib/names";
import { ComputeActions } from "./parts/ComputeActions";
import { ComputeTests } from "./parts/ComputeTests";
import { JobsThere } from "./parts/JobsThere";
import { Nodes } from "./parts/Nodes";
import { Trust } from "./parts/Trust";
import { Use } from "./parts/Use";
import { capabilityWords, healthWords } from "./parts/words";

const route = getRouteApi("/in/compute/$compute");

export function ComputeDetails() {
  const { compute: name } = route.useParams();
  const result = useQuery(computeQuery(name));
  if (isNotFound(result.error)) return <NotFound />;
  return (
    <>
      <PageHeader
        title={name}
        above={
          <TextLink to="/compute" size="sm">
            Compute
          </TextLink>
        }
        below={result.data && <Status state={result.data.health} />}
        actions={result.data && <ComputeActions compute={result.data} />}
      />
      <Loaded result={result}>{(compute) => <Details compute={compute} />}</Loaded>
    </>
  );
}

function Details({ compute }: { compute: Compute }) {
  const words = healthWords(compute);
  return (
    <Stack gap="xl">
      {words && (
        <Alert color={compute.health === "revoked" ? "red" : "orange"} icon={<IconBarrierBlock />}>
          {words}
        </Alert>
      )}
      <Paper withBorder p="md" component="section" aria-label={`About ${compute.name}`}>
        <Stack>
          <Facts facts={factsOf(compute)} />
          <Use of={compute} />
          <Group justify="space-between">
            <Text size="xs" c="dimmed">
              The same on the command line
            </Text>
            <CommandLine command={`mill compute show ${shellQuote(compute.name)}`} />
          </Group>
        </Stack>
      </Paper>
      <Trust compute={compute} />
      <Nodes compute={compute} />
      <JobsThere compute={compute} />
      <ComputeTests compute={compute} />
    </Stack>
  );
}

function factsOf(compute: Compute) {
  return [
    {
      name: "Site",
      value: (
        <TextLink to="/topology" size="sm">
          {compute.site}
        </TextLink>
      ),
    },
    { name: "Kind", value: compute.kind },
    { name: "Driver", value: compute.driver },
    { name: "Capabilities", value: capabilityWords(compute.capabilities) },
    { name: "Agent version", value: compute.version },
    { name: "Attached", value: <Time at={compute.created_at} /> },
    { name: "Seen", value: compute.seen_at ? <Time at={compute.seen_at} /> : "never" },
  ];
}

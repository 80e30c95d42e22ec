import { Button, Group, Loader, Paper, Stack, Table, Text, Title } from "@mantine/core";
import { IconCircleCheck, IconCircleDashed, IconCircleX, IconStethoscope } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";
import { computeTestQuery, isOver, useTestCompute } from "../../../api/computes";
import { useSession } from "../../../api/session";
import type { Compute, ComputeTest } from "../../../api/shapes";
import { CommandLine } from "../../../components/Copyable";
import { ErrorNotice } from "../../../components/ErrorNotice";
import { shellQuote } from "../../../lib/names";

const PICTURES = { ok: IconCircleCheck, failed: IconCircleX, skipped: IconCircleDashed } as const;
const COLORS = { ok: "green", failed: "red", skipped: "gray" } as const;

/** Lets the agent try out what it can reach, and shows what it found. For site administrators. */
export function ComputeTests({ compute }: { compute: Compute }) {
  const start = useTestCompute(compute.name);
  if (!useSession()?.user.is_admin) return null;
  return (
    <section aria-label="Test">
      <Group justify="space-between" mb="sm">
        <Title order={2} size="h5">
          Test
        </Title>
        <Button
          variant="default"
          leftSection={<IconStethoscope size={16} aria-hidden />}
          loading={start.isPending}
          onClick={() => start.mutate()}
        >
          Run test
        </Button>
      </Group>
      {start.error && <ErrorNotice error={start.error} />}
      {start.data ? (
        <Result compute={compute.name} test={start.data.id} />
      ) : (
        <Stack gap="xs">
          <Text size="sm" c="dimmed">
            Test connection, clock, lake and volume speed, and GPUs.
          </Text>
          <CommandLine command={`mill compute test ${shellQuote(compute.name)}`} />
        </Stack>
      )}
    </section>
  );
}

function Result({ compute, test }: { compute: string; test: string }) {
  const result = useQuery(computeTestQuery(compute, test));
  if (result.error) return <ErrorNotice error={result.error} retry={() => void result.refetch()} />;
  if (!result.data || !isOver(result.data)) {
    return (
      <Group gap="xs" role="status">
        <Loader size="xs" />
        <Text size="sm">The agent is trying things out; reading and writing takes a few seconds.</Text>
      </Group>
    );
  }
  return <Checks checks={result.data.checks} />;
}

export function Checks({ checks }: { checks: ComputeTest["checks"] }) {
  return (
    <Paper withBorder>
      <Table aria-label="Test results">
        <Table.Tbody>
          {checks.map((check) => {
            const Picture = PICTURES[check.state];
            return (
              <Table.Tr key={check.name}>
                <Table.Td w={110} valign="top">
                  <Group gap={6} wrap="nowrap">
                    <Picture size={16} color={`var(--mantine-color-${COLORS[check.state]}-6)`} aria-hidden />
                    {check.state}
                  </Group>
                </Table.Td>
                {/* One below the other: paths of volumes are long, and telephones are narrow. */}
                <Table.Td style={{ overflowWrap: "anywhere" }}>
                  <Text size="sm" fw={600}>
                    {check.name}
                  </Text>
                  <Text size="sm">{check.message}</Text>
                </Table.Td>
              </Table.Tr>
            );
          })}
        </Table.Tbody>
      </Table>
    </Paper>
  );
}

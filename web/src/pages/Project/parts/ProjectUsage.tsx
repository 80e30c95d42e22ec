import { Button, Paper, Progress, Stack, Table, Text } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { useQuery } from "@tanstack/react-query";
import { usageQuery } from "../../../api/quotas";
import { useSession } from "../../../api/session";
import type { QuotaUse } from "../../../api/shapes";
import { Loaded } from "../../../components/Loaded";
import { Section } from "../../../components/Section";
import { formatBytes } from "../../../lib/quantity";
import { EditQuotas } from "./EditQuotas";

const NAMES: Record<QuotaUse["kind"], string> = {
  lake: "In the lake",
  cached: "Cached on volumes",
  jobs: "Jobs at work",
  calls: "API calls a minute",
};

/** What the project takes of what all share: how much, of how much, and who has most of it. */
export function ProjectUsage({ project }: { project: string }) {
  const result = useQuery(usageQuery(project));
  const isAdmin = useSession()?.user.is_admin;
  const [editing, dialog] = useDisclosure(false);
  return (
    <Loaded result={result}>
      {({ items }) => (
        <Stack>
          <Section
            title="Usage"
            bare
            actions={
              isAdmin && (
                <Button size="xs" variant="default" onClick={dialog.open}>
                  Set quotas
                </Button>
              )
            }
          >
            <Paper withBorder>
              <Table aria-label="Usage">
                <Table.Thead>
                  <Table.Tr>
                    <Table.Th>What</Table.Th>
                    <Table.Th>Used</Table.Th>
                    <Table.Th>Most of it</Table.Th>
                  </Table.Tr>
                </Table.Thead>
                <Table.Tbody>
                  {items.map((use) => (
                    <Row key={use.kind} use={use} />
                  ))}
                </Table.Tbody>
              </Table>
            </Paper>
          </Section>
          {editing && <EditQuotas project={project} items={items} onClose={dialog.close} />}
        </Stack>
      )}
    </Loaded>
  );
}

function Row({ use }: { use: QuotaUse }) {
  const percent = use.limit ? Math.min(100, (100 * use.used) / use.limit) : 0;
  return (
    <Table.Tr>
      <Table.Td>{NAMES[use.kind]}</Table.Td>
      <Table.Td>
        {use.text}
        {use.limit == null ? (
          <Text size="xs" c="dimmed">
            no quota
          </Text>
        ) : (
          <Progress
            value={percent}
            color={percent >= 90 ? "orange" : undefined}
            aria-label={`${NAMES[use.kind]}: ${use.text}`}
            maw={220}
            mt={4}
          />
        )}
      </Table.Td>
      <Table.Td>
        {use.holders.map((one) => `${one.name} (${amount(use, one.amount)})`).join(", ") || "–"}
      </Table.Td>
    </Table.Tr>
  );
}

function amount(use: QuotaUse, value: number): string {
  return use.kind === "lake" || use.kind === "cached" ? formatBytes(value) : value.toLocaleString("en");
}

/** What starts a flow by itself: each trigger with its next time, its last firing, and why it does not fire. */
import { Badge, Button, Group, Paper, Stack, Switch, Table, Text } from "@mantine/core";
import { IconBolt, IconCalendarTime, IconGitCommit, IconRoute, IconWebhook } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";
import { firingsQuery, triggersQuery, useFireTrigger, useSwitchTrigger } from "../../../api/flowTriggers";
import type { Flow, FlowFiring, FlowTrigger } from "../../../api/shapes";
import { BriefEmptyState } from "../../../components/EmptyState";
import { Loaded } from "../../../components/Loaded";
import { notifyDone, notifyError } from "../../../components/notify";
import { Section } from "../../../components/Section";
import { TextLink } from "../../../components/TextLink";
import { Time } from "../../../components/Time";
import { WebhookSecret } from "./WebhookSecret";

const ICONS: Readonly<Record<string, typeof IconBolt>> = {
  commit: IconGitCommit,
  cron: IconCalendarTime,
  webhook: IconWebhook,
  flow: IconRoute,
};

export function Triggers({ flow }: { flow: Flow }) {
  const place = { project: flow.project, flow: flow.name };
  const triggers = useQuery(triggersQuery(place));
  const firings = useQuery(firingsQuery(place));
  return (
    <Stack gap="lg">
      <Loaded result={triggers}>
        {({ items }) =>
          items.length === 0 ? (
            <BriefEmptyState words="Nothing starts this flow by itself. Add a trigger in the settings of the flow: a new commit, a schedule, a webhook or the end of another flow." />
          ) : (
            <Stack gap="sm">
              {items.map((trigger) => (
                <OneTrigger key={trigger.id} project={flow.project} trigger={trigger} />
              ))}
            </Stack>
          )
        }
      </Loaded>
      <Loaded result={firings}>
        {({ items }) =>
          items.length === 0 ? null : (
            <Section title="What set them off">
              <FiringTable project={flow.project} firings={items} triggers={triggers.data?.items ?? []} />
            </Section>
          )
        }
      </Loaded>
    </Stack>
  );
}

function OneTrigger({ project, trigger }: { project: string; trigger: FlowTrigger }) {
  const place = { project, flow: trigger.flow, trigger: trigger.id };
  const turn = useSwitchTrigger(place);
  const fire = useFireTrigger(place);
  const Picture = ICONS[trigger.type] ?? IconBolt;
  return (
    <Paper withBorder p="md" component="article" aria-label={trigger.title}>
      <Group justify="space-between" align="flex-start" gap="sm">
        <Group gap="sm" wrap="nowrap" align="flex-start" flex={1} miw={220}>
          <Picture size={20} aria-hidden style={{ flex: "none", marginTop: 2 }} />
          <div>
            <Text fw={600}>{trigger.title}</Text>
            {trigger.problem && (
              <Text size="sm" className="flow-warning">
                {trigger.problem}
              </Text>
            )}
            <Text size="sm" c="dimmed">
              <Told trigger={trigger} project={project} />
            </Text>
          </div>
        </Group>
        <Group gap="xs">
          <Switch
            size="sm"
            label="Enabled"
            checked={trigger.enabled}
            disabled={turn.isPending}
            onChange={(event) => turn.mutate(event.currentTarget.checked, { onError: notifyError })}
          />
          {trigger.type === "webhook" && <WebhookSecret project={project} trigger={trigger} />}
          <Button
            size="xs"
            variant="default"
            leftSection={<IconBolt size={14} />}
            loading={fire.isPending}
            onClick={() =>
              fire.mutate(undefined, {
                onSuccess: (made) =>
                  notifyDone(made.written ? `${made.written} started.` : `Firing ${made.state}.`),
                onError: notifyError,
              })
            }
          >
            Fire now
          </Button>
        </Group>
      </Group>
    </Paper>
  );
}

function Told({ trigger, project }: { trigger: FlowTrigger; project: string }) {
  const { newest } = trigger;
  return (
    <>
      {trigger.enabled && trigger.next_at && (
        <>
          Next <Time at={trigger.next_at} /> ·{" "}
        </>
      )}
      {newest ? (
        <>
          Last {newest.state} <Time at={newest.created_at} />
          {newest.run && (
            <>
              {" "}
              (<RunLink project={project} firing={newest} />)
            </>
          )}
        </>
      ) : (
        "Has not fired yet"
      )}{" "}
      · runs as {trigger.run_as}
    </>
  );
}

function RunLink({ project, firing }: { project: string; firing: FlowFiring }) {
  if (!firing.run) return null;
  return (
    <TextLink
      to="/projects/$project/flow-runs/$run"
      params={{ project, run: firing.run }}
      size="sm"
      underline="always"
    >
      {firing.written ?? firing.run}
    </TextLink>
  );
}

interface FiringProps {
  project: string;
  firings: readonly FlowFiring[];
  triggers: readonly FlowTrigger[];
}

const COLORS: Readonly<Record<string, string>> = {
  fired: "green",
  waiting: "gray",
  skipped: "gray",
  refused: "red",
};

function FiringTable({ project, firings, triggers }: FiringProps) {
  const titles = new Map(triggers.map((one) => [one.id, one.title]));
  return (
    <Table.ScrollContainer
      minWidth={640}
      scrollAreaProps={{ viewportProps: { tabIndex: 0, "aria-label": "Firings" } }}
    >
      <Table aria-label="Firings">
        <Table.Thead>
          <Table.Tr>
            {["When", "Trigger", "State", "Run", "By", "Reason"].map((head) => (
              <Table.Th key={head}>{head}</Table.Th>
            ))}
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {firings.map((one) => (
            <Table.Tr key={one.id}>
              <Table.Td>
                <Time at={one.created_at} />
              </Table.Td>
              <Table.Td>
                {titles.get(one.trigger) ?? "a trigger that was removed"}
                {one.manual && " (by hand)"}
              </Table.Td>
              <Table.Td>
                <Badge variant="light" color={COLORS[one.state] ?? "gray"} tt="none">
                  {one.state}
                </Badge>
              </Table.Td>
              <Table.Td>
                <RunLink project={project} firing={one} />
              </Table.Td>
              <Table.Td>{one.by}</Table.Td>
              <Table.Td>{one.reason}</Table.Td>
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </Table.ScrollContainer>
  );
}

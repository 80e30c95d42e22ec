/** The triggers of a flow as forms: every field writes one place of the text. */
import {
  ActionIcon,
  Autocomplete,
  Button,
  Group,
  Menu,
  Paper,
  Select,
  Stack,
  TagsInput,
  Text,
} from "@mantine/core";
import { IconPlus, IconTrash } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";
import { flowsQuery } from "../../../../api/flows";
import { scheduleTimesQuery } from "../../../../api/flowTriggers";
import { appendItem, deleteItem } from "../../../../lib/flow/patch";
import { object } from "../library";
import type { FlowForm } from "./FlowInspector";
import { Part } from "./Part";
import { SettledInput } from "./SettledInput";
import { checkDuration } from "./values";

const KINDS = {
  commit: { title: "New commit", first: { type: "commit", ref: "" } },
  cron: { title: "Schedule", first: { type: "cron", cron: "0 3 * * *" } },
  webhook: { title: "Webhook", first: { type: "webhook", name: "start" } },
  flow: { title: "End of another flow", first: { type: "flow", flow: "" } },
} as const;
type Kind = keyof typeof KINDS;

interface OneProps extends FlowForm {
  settings: Record<string, unknown>;
  put: (key: string, value: unknown) => void;
}

export function FlowTriggers(props: FlowForm) {
  const { graph, datasets, isEditable, set, change } = props;
  const triggers = Array.isArray(graph.value.triggers) ? graph.value.triggers.map(object) : [];
  const add = (kind: Kind) => {
    const first =
      kind === "commit" ? { type: kind, ref: `${datasets[0] ?? "data"}@main` } : KINDS[kind].first;
    change("add-trigger", (text) => appendItem(text, ["triggers"], first));
  };
  return (
    <Part
      title="Triggers"
      isOpen={triggers.length > 0}
      told={triggers.map((one) => String(one.type)).join(", ") || "none"}
    >
      {triggers.map((settings, index) => (
        <Paper
          key={index}
          withBorder
          p={8}
          component="section"
          aria-label={`Trigger ${index + 1}: ${KINDS[settings.type as Kind]?.title ?? settings.type}`}
        >
          <Stack gap={6}>
            <Group justify="space-between" wrap="nowrap">
              <Text size="sm" fw={600}>
                {KINDS[settings.type as Kind]?.title ?? String(settings.type)}
              </Text>
              {isEditable && (
                <ActionIcon
                  variant="subtle"
                  color="red"
                  aria-label={`Remove trigger ${index + 1}`}
                  onClick={() => change("remove-trigger", (text) => deleteItem(text, ["triggers"], index))}
                >
                  <IconTrash size={14} />
                </ActionIcon>
              )}
            </Group>
            <Fields
              {...props}
              settings={settings}
              put={(key, value) => set(["triggers", String(index), key], value)}
            />
          </Stack>
        </Paper>
      ))}
      {isEditable && (
        <Menu>
          <Menu.Target>
            <Button size="xs" variant="default" leftSection={<IconPlus size={14} />}>
              Add a trigger
            </Button>
          </Menu.Target>
          <Menu.Dropdown>
            {(Object.keys(KINDS) as Kind[]).map((kind) => (
              <Menu.Item key={kind} onClick={() => add(kind)}>
                {KINDS[kind].title}
              </Menu.Item>
            ))}
          </Menu.Dropdown>
        </Menu>
      )}
    </Part>
  );
}

function Fields(props: OneProps) {
  switch (props.settings.type) {
    case "commit":
      return <CommitFields {...props} />;
    case "cron":
      return <CronFields {...props} />;
    case "webhook":
      return <WebhookFields {...props} />;
    case "flow":
      return <FlowFields {...props} />;
    default:
      return null;
  }
}

function CommitFields({ settings, datasets, isEditable, put }: OneProps) {
  return (
    <>
      <Autocomplete
        size="xs"
        label="Branch"
        disabled={!isEditable}
        data={datasets.map((name) => `${name}@main`)}
        value={String(settings.ref ?? "")}
        onChange={(text) => put("ref", text)}
      />
      <TagsInput
        size="xs"
        label="Only if these files changed"
        placeholder="train/**"
        disabled={!isEditable}
        value={Array.isArray(settings.paths) ? settings.paths.map(String) : []}
        onChange={(paths) => put("paths", paths.length > 0 ? paths : undefined)}
      />
      <SettledInput
        size="xs"
        label="Gather commits for"
        placeholder="start at once"
        disabled={!isEditable}
        written={String(settings.debounce ?? "")}
        check={checkDuration}
        onSettle={(text) => put("debounce", text || undefined)}
      />
    </>
  );
}

const PRESETS = [
  { value: "0 * * * *", label: "every hour" },
  { value: "0 3 * * *", label: "every day at 03:00" },
  { value: "0 3 * * 1-5", label: "on weekdays at 03:00" },
  { value: "0 3 * * 1", label: "every Monday at 03:00" },
  { value: "0 3 1 * *", label: "on the 1st of the month at 03:00" },
];
const ZONES = Intl.supportedValuesOf("timeZone");

function CronFields({ project, settings, isEditable, put }: OneProps) {
  const cron = String(settings.cron ?? "");
  const zone = String(settings.timezone ?? "UTC");
  return (
    <>
      <Select
        size="xs"
        label="When"
        placeholder="as written below"
        disabled={!isEditable}
        allowDeselect={false}
        data={PRESETS}
        value={PRESETS.some((one) => one.value === cron) ? cron : null}
        onChange={(chosen) => chosen && put("cron", chosen)}
      />
      <Group gap={6} grow align="flex-start">
        <SettledInput
          size="xs"
          label="Cron"
          description="minute hour day month weekday"
          classNames={{ input: "mono" }}
          disabled={!isEditable}
          written={cron}
          onSettle={(text) => put("cron", text.trim())}
        />
      </Group>
      <Group gap={6} grow align="flex-start">
        <Select
          size="xs"
          label="Time zone"
          searchable
          disabled={!isEditable}
          allowDeselect={false}
          data={ZONES.includes(zone) ? ZONES : [zone, ...ZONES]}
          value={zone}
          onChange={(chosen) => put("timezone", chosen === "UTC" ? undefined : chosen)}
        />
        <Select
          size="xs"
          label="Missed times"
          disabled={!isEditable}
          allowDeselect={false}
          data={[
            { value: "once", label: "make up once" },
            { value: "skip", label: "skip" },
            { value: "all", label: "make up all" },
          ]}
          value={String(settings.missed ?? "once")}
          onChange={(chosen) => put("missed", chosen === "once" ? undefined : chosen)}
        />
      </Group>
      <NextTimes project={project} cron={cron} zone={zone} />
    </>
  );
}

function NextTimes({ project, cron, zone }: { project: string; cron: string; zone: string }) {
  const { data, error } = useQuery(scheduleTimesQuery(project, cron, zone));
  if (error)
    return (
      <Text size="xs" className="flow-warning">
        {error.message}
      </Text>
    );
  return (
    <div>
      <Text size="xs" fw={600}>
        Next times
      </Text>
      {(data?.times ?? []).map((at) => (
        <Text key={at} size="xs" c="dimmed">
          {inZone(at, zone)}
        </Text>
      ))}
    </div>
  );
}

/** `Monday, 23 November 2026 at 03:00 CET`. */
function inZone(at: string, zone: string): string {
  return new Intl.DateTimeFormat("en-GB", {
    weekday: "long",
    day: "numeric",
    month: "long",
    year: "numeric",
    hour: "2-digit",
    minute: "2-digit",
    timeZoneName: "short",
    timeZone: zone,
  }).format(new Date(at));
}

function WebhookFields({ settings, isEditable, put }: OneProps) {
  return (
    <>
      <SettledInput
        size="xs"
        label="Name"
        disabled={!isEditable}
        written={String(settings.name ?? "")}
        onSettle={(text) => put("name", text)}
      />
      <Text size="xs" c="dimmed">
        Save the flow, then make the secret on the tab Triggers.
      </Text>
    </>
  );
}

function FlowFields({ project, graph, settings, isEditable, put }: OneProps) {
  const flows = useQuery(flowsQuery(project)).data?.items ?? [];
  return (
    <>
      <Autocomplete
        size="xs"
        label="Flow"
        disabled={!isEditable}
        data={flows.map((one) => one.name).filter((name) => name !== graph.name)}
        value={String(settings.flow ?? "")}
        onChange={(text) => put("flow", text)}
      />
      <Select
        size="xs"
        label="When it has"
        disabled={!isEditable}
        allowDeselect={false}
        data={["succeeded", "failed", "cancelled", "any"]}
        value={String(settings.state ?? "succeeded")}
        onChange={(chosen) => put("state", chosen === "succeeded" ? undefined : chosen)}
      />
    </>
  );
}

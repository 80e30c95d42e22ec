import { Alert, Button, Group, Paper, Stack, Text, Title } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { IconAlertTriangle, IconCloudPlus } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";
import { elasticQuery } from "../../../api/elastic";
import type { Elastic, ElasticNode } from "../../../api/shapes";
import { CommandLine } from "../../../components/Copyable";
import { EmptyState } from "../../../components/EmptyState";
import { type Fact, Facts } from "../../../components/Facts";
import { Loaded } from "../../../components/Loaded";
import { Time } from "../../../components/Time";
import { writeLabels } from "../../../lib/labels";
import { formatBytes, formatSeconds, plural } from "../../../lib/quantity";
import { ElasticActions, NewElasticButton } from "./ElasticActions";
import { ElasticNodes } from "./ElasticNodes";

/** Computes whose machines are created while jobs wait, and deleted when they are idle. */
export function ElasticComputes() {
  const result = useQuery(elasticQuery);
  const isEmpty = result.data?.items.length === 0;
  return (
    <section aria-label="Elastic computes">
      <Group justify="space-between" mb="sm">
        <Title order={2} size="h4">
          Elastic
        </Title>
        {!isEmpty && <NewElasticButton />}
      </Group>
      <Loaded result={result}>
        {({ items }) =>
          items.length === 0 ? (
            <EmptyState
              icon={IconCloudPlus}
              sentence="No elastic computes yet. One creates machines while jobs wait for them, and deletes them when they are idle."
              action={<NewElasticButton />}
              command="mill elastic create burst --provisioner aws --gpus 1 --cpus 4 --memory 16GB --max 4"
            />
          ) : (
            <Stack>
              {items.map((elastic) => (
                <ElasticCard key={elastic.name} elastic={elastic} />
              ))}
              <CommandLine command="mill elastic list" />
            </Stack>
          )
        }
      </Loaded>
    </section>
  );
}

function ElasticCard({ elastic }: { elastic: Elastic }) {
  return (
    <Paper withBorder p="md" component="section" aria-label={elastic.name} data-testid="elastic">
      <Stack gap="sm">
        <Group justify="space-between" align="flex-start">
          <div>
            <Title order={3} size="h4">
              {elastic.name}
            </Title>
            {elastic.description && (
              <Text size="sm" c="dimmed">
                {elastic.description}
              </Text>
            )}
          </div>
          <ElasticActions elastic={elastic} />
        </Group>
        <Facts facts={factsOf(elastic)} />
        <Problem elastic={elastic} />
        <Machines elastic={elastic} />
      </Stack>
    </Paper>
  );
}

function factsOf(elastic: Elastic): Fact[] {
  const all: Fact[] = [
    { name: "Provisioner", value: elastic.provisioner },
    { name: "Site", value: elastic.site },
    { name: "Machines", value: machineWords(elastic) },
    { name: "Minimum", value: elastic.minimum },
    { name: "Maximum", value: elastic.maximum },
    { name: "Deleted when idle for", value: formatSeconds(elastic.idle_seconds) },
    { name: "Price per hour", value: elastic.price_per_hour || "–" },
    { name: "A machine has", value: sizeWords(elastic) },
    { name: "Options", value: writeLabels(elastic.options).join(", ") },
  ];
  return all.filter(({ value }) => value !== "");
}

/** `2: 1 ready, 1 starting` */
export function machineWords({ ready, starting, deleting }: Elastic): string {
  const parts = [
    ready && `${ready} ready`,
    starting && `${starting} starting`,
    deleting && `${deleting} deleting`,
  ].filter(Boolean);
  return [ready + starting + deleting, parts.join(", ")].filter((part) => part !== "").join(": ");
}

function sizeWords({ gpus, gpu_type, gpu_memory_bytes, cpus, memory_bytes }: Elastic): string {
  const memory = gpu_memory_bytes ? ` (${formatBytes(gpu_memory_bytes)})` : "";
  const gpuWords = gpus > 0 && (gpu_type ? `${gpus} × ${gpu_type}` : plural(gpus, "GPU")) + memory;
  return [gpuWords, plural(cpus, "CPU"), memory_bytes > 0 && `${formatBytes(memory_bytes)} memory`]
    .filter(Boolean)
    .join(", ");
}

/** What went wrong last, and when it is tried again. */
function Problem({ elastic: { problem, retry_at } }: { elastic: Elastic }) {
  if (!problem) return null;
  return (
    <Alert color="orange" icon={<IconAlertTriangle />} title={problem}>
      {retry_at && (
        <>
          Next try: <Time at={retry_at} />
        </>
      )}
    </Alert>
  );
}

/** Those that exist; those that are gone, with the reason, on demand. */
function Machines({ elastic }: { elastic: Elastic }) {
  const [withGone, { toggle }] = useDisclosure(false);
  const gone = elastic.nodes.filter(isGone);
  const shown = withGone ? elastic.nodes : elastic.nodes.filter((node) => !isGone(node));
  return (
    <>
      {shown.length > 0 ? (
        <ElasticNodes elastic={elastic.name} nodes={shown} />
      ) : (
        <Text size="sm" c="dimmed">
          {noMachineWords(elastic)}
        </Text>
      )}
      {gone.length > 0 && (
        <Button variant="subtle" size="compact-sm" onClick={toggle} style={{ alignSelf: "flex-start" }}>
          {withGone ? "Hide deleted machines" : `Show ${plural(gone.length, "deleted machine")}`}
        </Button>
      )}
    </>
  );
}

function noMachineWords({ minimum, maximum }: Elastic): string {
  if (maximum === 0) return "No machines. None are created while the maximum is 0.";
  if (minimum > 0) return "No machines yet.";
  return "No machines now. One is created when a job waits for it.";
}

function isGone(node: ElasticNode): boolean {
  return node.state === "gone";
}

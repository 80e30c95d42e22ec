/** One cluster: its workers, what its scheduler asks for, what happened to it. */
import { Alert, Breadcrumbs, Paper, Stack, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { createColumnHelper } from "@tanstack/react-table";
import { clusterQuery } from "../../api/clusters";
import { isNotFound } from "../../api/problem";
import type { Cluster, ClusterJob } from "../../api/shapes";
import { CommandLine } from "../../components/Copyable";
import { DataTable } from "../../components/DataTable";
import { Facts } from "../../components/Facts";
import { JobLink } from "../../components/JobLink";
import { Loaded } from "../../components/Loaded";
import { NotFound } from "../../components/NotFound";
import { PageHeader } from "../../components/PageHeader";
import { Section } from "../../components/Section";
import { Status } from "../../components/Status";
import { TextLink } from "../../components/TextLink";
import { Time } from "../../components/Time";
import { useTopic } from "../../hooks/useLive";
import { formatBytes } from "../../lib/quantity";
import { kindOf } from "./List";
import { ClusterActions } from "./parts/ClusterActions";
import { Demand } from "./parts/Demand";

const route = getRouteApi("/in/projects/$project/clusters/$cluster");

export function ClusterDetails() {
  const place = route.useParams();
  const result = useQuery(clusterQuery(place));
  useTopic("clusters");
  if (isNotFound(result.error)) return <NotFound message={result.error?.message} />;
  return <Loaded result={result}>{(cluster) => <Parts cluster={cluster} />}</Loaded>;
}

function Parts({ cluster }: { cluster: Cluster }) {
  return (
    <Stack gap="xl">
      <Header cluster={cluster} />
      <Demand cluster={cluster} />
      <Processes cluster={cluster} />
      <History cluster={cluster} />
      <Use cluster={cluster} />
    </Stack>
  );
}

function Header({ cluster }: { cluster: Cluster }) {
  return (
    <PageHeader
      title={cluster.name}
      above={
        <Breadcrumbs mb={4} fz="sm">
          <TextLink to="/clusters" size="sm">
            Clusters
          </TextLink>
          <TextLink to="/clusters" search={{ project: cluster.project }} size="sm">
            {cluster.project}
          </TextLink>
        </Breadcrumbs>
      }
      below={
        <Stack gap={6} mt={4}>
          <Text size="sm" c="dimmed" component="div">
            <Status state={cluster.state} /> {kindOf(cluster)} at {cluster.site} ·{" "}
            <Time at={cluster.created_at} prefix="created " /> by {cluster.created_by}
          </Text>
          <Reasons cluster={cluster} />
        </Stack>
      }
      actions={<ClusterActions cluster={cluster} />}
    />
  );
}

/** Why it is in this state; loud only where something is wrong. */
function Reasons({ cluster }: { cluster: Cluster }) {
  const lines = cluster.reasons.map((reason) => (
    <Text key={reason} size="sm" style={{ overflowWrap: "anywhere" }}>
      {reason}
    </Text>
  ));
  if (cluster.state !== "failing" && cluster.state !== "degraded") return <>{lines}</>;
  return (
    <Alert color="orange" p="xs">
      {lines}
    </Alert>
  );
}

const process = createColumnHelper<ClusterJob & { project: string }>();
const PROCESSES = [
  process.accessor("job_name", {
    header: "Job",
    cell: ({ row }) => (
      <JobLink project={row.original.project} job={row.original.job}>
        {row.original.job_name}
      </JobLink>
    ),
  }),
  process.accessor("role", { header: "Role" }),
  process.accessor("state", {
    header: "State",
    cell: ({ row }) => (
      <>
        <Status state={row.original.state} />
        {row.original.state !== "ready" && (
          <Text size="xs" c="dimmed" style={{ overflowWrap: "anywhere" }}>
            {row.original.reason}
          </Text>
        )}
      </>
    ),
  }),
  process.accessor("compute", { header: "Compute", cell: ({ getValue }) => getValue() ?? "–" }),
  process.accessor("tasks", { header: "Tasks", cell: ({ getValue }) => getValue() ?? "–" }),
  process.accessor("bytes", {
    header: "Holds",
    cell: ({ row: { original } }) => (original.bytes === null ? "–" : formatBytes(original.bytes)),
  }),
  process.accessor("ready_at", {
    header: "Ready",
    cell: ({ getValue }) => {
      const at = getValue();
      return at ? <Time at={at} /> : "–";
    },
  }),
];

function Processes({ cluster }: { cluster: Cluster }) {
  const known = [...(cluster.scheduler ? [cluster.scheduler] : []), ...cluster.workers];
  return (
    <Section title="Scheduler and workers">
      {known.length === 0 ? (
        <Text size="sm" c="dimmed" p="md">
          No jobs yet.
        </Text>
      ) : (
        <DataTable
          label="Scheduler and workers"
          rows={known.map((one) => ({ ...one, project: cluster.project }))}
          columns={PROCESSES}
          rowId={(row) => row.job}
          minWidth={760}
        />
      )}
    </Section>
  );
}

function History({ cluster }: { cluster: Cluster }) {
  return (
    <Section title="History" bare>
      <Paper withBorder p="md" component="ol" m={0} style={{ listStyle: "none" }} aria-label="History">
        {cluster.history.map(({ at, what }, place) => (
          <Text key={`${at}-${place}`} component="li" size="sm" mb={4} style={{ overflowWrap: "anywhere" }}>
            <Text span c="dimmed" size="sm">
              <Time at={at} />
            </Text>{" "}
            {what}
          </Text>
        ))}
      </Paper>
    </Section>
  );
}

function Use({ cluster }: { cluster: Cluster }) {
  const facts = [
    { name: "Scheduler", value: cluster.address ?? "not ready yet" },
    { name: "Each worker", value: size(cluster) },
    ...(cluster.scheduler_memory_bytes
      ? [{ name: "Memory of the scheduler", value: formatBytes(cluster.scheduler_memory_bytes) }]
      : []),
    ...(cluster.data.length ? [{ name: "Data", value: cluster.data.map(shortened).join(", ") }] : []),
  ];
  return (
    <Section title="Use it" bare>
      <Stack gap="sm">
        <Facts facts={facts} />
        <Text size="sm">A program finds the cluster by itself:</Text>
        <CommandLine wrap label="Copy the program" command={PROGRAMS[cluster.kind]} />
        <CommandLine wrap command={submitting(cluster)} />
      </Stack>
    </Section>
  );
}

const PROGRAMS = {
  dask: `from dask.distributed import Client

client = Client()
print(sum(client.gather(client.map(lambda x: x * x, range(1000)))))`,
  ray: `import ray

ray.init()

@ray.remote
def square(x):
    return x * x

print(sum(ray.get([square.remote(x) for x in range(1000)])))`,
};

/** With what the cluster has: a program needs the same packages, and names its data itself. */
function submitting({ name, environment, image, data }: Cluster): string {
  const asked = [
    `--cluster ${name}`,
    ...(environment ? ["--requirements requirements.txt"] : []),
    ...(image ? [`--image ${image}`] : []),
    ...data.map((one) => `--data ${one.split("@")[0]?.split("/").at(-1)}`),
  ];
  return `mill submit ${asked.join(" ")} -- python script.py`;
}

/** `project/dataset@commit` with the beginning of the commit. */
function shortened(written: string): string {
  const [dataset = "", commit = ""] = written.split("@");
  return `${dataset}@${commit.slice(0, 12)}`;
}

function size({ cpu, memory_bytes, gpu_hundredths, image }: Cluster): string {
  const parts = [`${cpu} ${cpu === 1 ? "CPU" : "CPUs"}`];
  if (memory_bytes) parts.push(formatBytes(memory_bytes));
  if (gpu_hundredths) parts.push(`${gpu_hundredths / 100} GPUs`);
  if (image) parts.push(image);
  return parts.join(", ");
}

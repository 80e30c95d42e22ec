import { Group, Paper, Stack, Text } from "@mantine/core";
import { createColumnHelper } from "@tanstack/react-table";
import type { Endpoint, EndpointReplica, EndpointSiteState } from "../../../api/shapes";
import { CommandLine, CopyIcon } from "../../../components/Copyable";
import { DataTable } from "../../../components/DataTable";
import { JobLink } from "../../../components/JobLink";
import { Section } from "../../../components/Section";
import { Status } from "../../../components/Status";
import { Time } from "../../../components/Time";
import { formatSeconds } from "../../../lib/quantity";
import { SitePush } from "./SitePush";
import { SiteScale } from "./SiteScale";
import { Versions } from "./Versions";

/** What it serves, where, and by which replicas. */
export function Overview({ endpoint }: { endpoint: Endpoint }) {
  return (
    <Stack gap="xl">
      <Stack gap="xs">
        <Versions endpoint={endpoint} />
        <Pushed endpoint={endpoint} />
      </Stack>
      <Sites endpoint={endpoint} />
      <Replicas endpoint={endpoint} />
      <Addresses endpoint={endpoint} />
    </Stack>
  );
}

/** Where the versions above have no say. */
function Pushed({ endpoint }: { endpoint: Endpoint }) {
  const pushed = endpoint.sites.filter((one) => one.is_pushed);
  if (pushed.length === 0) return null;
  return (
    <Text size="sm" c="dimmed">
      {pushed.length === endpoint.sites.length ? "All sites" : pushed.map((one) => one.site).join(", ")} serve
      a version that was pushed there instead.
    </Text>
  );
}

const site = createColumnHelper<EndpointSiteState & { endpoint: Endpoint }>();
const SITES = [
  site.accessor("site", { header: "Site" }),
  site.accessor("ready", {
    header: "Replicas ready",
    cell: ({ row }) => `${row.original.ready} of ${row.original.wanted}`,
  }),
  site.accessor((one) => one.desired.join(", "), { id: "desired", header: "Should serve" }),
  site.accessor((one) => one.serving.join(", ") || "–", {
    id: "serving",
    header: "Serves now",
    cell: ({ row, getValue }) => (
      <>
        {getValue()}
        {row.original.since && (
          <Text size="xs" c="dimmed">
            <Time at={row.original.since} prefix="since " />
          </Text>
        )}
      </>
    ),
  }),
  site.accessor("swap", { header: "Swap", cell: ({ row }) => <Swap site={row.original} /> }),
  site.accessor("reason", { header: "Why so many", cell: ({ getValue }) => getValue() || "–" }),
  site.display({
    id: "push",
    header: "Version of its own",
    cell: ({ row }) => <SitePush endpoint={row.original.endpoint} site={row.original} />,
  }),
  site.display({
    id: "limits",
    header: "Minimum and maximum",
    cell: ({ row }) => <SiteScale endpoint={row.original.endpoint} site={row.original} />,
  }),
];

/** How far the site is with what it should serve; one that is silent goes on with what it has. */
function Swap({ site }: { site: EndpointSiteState }) {
  return (
    <>
      <Status state={site.swap} />
      {site.swap_reason && <Text size="xs">{site.swap_reason}</Text>}
      {!site.is_online && (
        <Text size="xs" c="dimmed">
          {site.heard_at ? <Time at={site.heard_at} prefix="offline, last heard of " /> : "never heard of"}
        </Text>
      )}
    </>
  );
}

function Sites({ endpoint }: { endpoint: Endpoint }) {
  return (
    <Section title="Sites">
      <DataTable
        label="Sites"
        rows={endpoint.sites.map((one) => ({ ...one, endpoint }))}
        columns={SITES}
        rowId={(row) => row.site}
        minWidth={1060}
      />
    </Section>
  );
}

const replica = createColumnHelper<EndpointReplica & { project: string }>();
const REPLICAS = [
  replica.accessor("state", { header: "State", cell: ({ getValue }) => <Status state={getValue()} /> }),
  replica.accessor((one) => `${one.model}@${one.version}`, { id: "version", header: "Version" }),
  replica.accessor("site", {
    header: "Place",
    cell: ({ row }) =>
      [row.original.site, row.original.compute, row.original.node].filter(Boolean).join(" / "),
  }),
  replica.accessor("job_name", {
    header: "Job",
    cell: ({ row }) => (
      <JobLink project={row.original.project} job={row.original.job}>
        {row.original.job_name}
      </JobLink>
    ),
  }),
  replica.accessor("ready_at", {
    header: "Ready",
    cell: ({ row }) =>
      row.original.ready_at ? <Time at={row.original.ready_at} /> : row.original.reason || "–",
  }),
  replica.display({
    id: "start",
    header: "Start took",
    cell: ({ row }) => <StartTimes replica={row.original} />,
  }),
];

function Replicas({ endpoint }: { endpoint: Endpoint }) {
  return (
    <Section title="Replicas">
      {endpoint.replicas.length === 0 ? (
        <Text size="sm" c="dimmed" p="md">
          {endpoint.state === "idle"
            ? "No replicas: no requests came lately. The next request starts one and waits for it."
            : "No replicas yet."}
        </Text>
      ) : (
        <DataTable
          label="Replicas"
          rows={endpoint.replicas.map((one) => ({ ...one, project: endpoint.project }))}
          columns={REPLICAS}
          rowId={(row) => row.id}
          minWidth={820}
        />
      )}
    </Section>
  );
}

/** Parts of a cold start, in their order: where the time went. */
function StartTimes({ replica }: { replica: EndpointReplica }) {
  const parts = Object.entries(replica.started);
  if (parts.length === 0) return <>–</>;
  return (
    <Text size="xs" component="div">
      {parts.map(([name, seconds]) => (
        <div key={name}>
          {name.replaceAll("_", " ")} {formatSeconds(seconds)}
        </div>
      ))}
    </Text>
  );
}

function Addresses({ endpoint }: { endpoint: Endpoint }) {
  const url = new URL(endpoint.url, document.baseURI).href;
  return (
    <Section title="Addresses" bare>
      <Stack gap="sm">
        <Paper withBorder p="md">
          <Address name="Through this server (HTTP)" value={url} />
          {endpoint.sites.map(({ site: name, http, grpc, metrics }) => (
            <div key={name}>
              {http && <Address name={`At ${name}, HTTP`} value={http} />}
              {grpc && <Address name={`At ${name}, gRPC`} value={grpc} />}
              {metrics && <Address name={`At ${name}, Prometheus`} value={metrics} />}
            </div>
          ))}
        </Paper>
        <CommandLine wrap command={clientExample(endpoint.name, url)} />
      </Stack>
    </Section>
  );
}

function Address({ name, value }: { name: string; value: string }) {
  return (
    <Group gap="0 md" mb={4}>
      <Text size="sm" c="dimmed" w={200}>
        {name}
      </Text>
      <Group gap={4} wrap="nowrap">
        <Text size="sm" ff="monospace" style={{ overflowWrap: "anywhere" }}>
          {value}
        </Text>
        <CopyIcon value={value} label={`Copy the address ${name}`} />
      </Group>
    </Group>
  );
}

function clientExample(name: string, url: string): string {
  const base = url.replace(/^https?:\/\//, "");
  return [
    "import tritonclient.http as triton",
    `client = triton.InferenceServerClient("${base}"${url.startsWith("https:") ? ", ssl=True" : ""})`,
    `client.get_model_metadata("${name}", headers={"Authorization": "Bearer TOKEN"})`,
  ].join("\n");
}

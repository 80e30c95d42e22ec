import { Button, Group, Paper, Stack, Text } from "@mantine/core";
import { IconStethoscope } from "@tabler/icons-react";
import { useCheckVersion } from "../../../api/models";
import { useMay } from "../../../api/session";
import type { ModelVersion, Schemas } from "../../../api/shapes";
import { type Fact, Facts } from "../../../components/Facts";
import { JobLink } from "../../../components/JobLink";
import { tell } from "../../../components/notify";
import { Section } from "../../../components/Section";
import { Status } from "../../../components/Status";
import { Time } from "../../../components/Time";
import { formatBytes } from "../../../lib/quantity";

type Check = Schemas["ModelCheck"];

/** Whether a version can be loaded and run, and what that takes; with a button to find out. */
export function VersionCheck({ version }: { version: ModelVersion }) {
  const may = useMay(version.project, "member");
  const { check } = version;
  const can = may && version.state === "ready" && check?.state !== "running";
  return (
    <Section title="Check" bare actions={can && <CheckButton version={version} />}>
      <Paper withBorder p="md">
        {check ? (
          <Found project={version.project} check={check} />
        ) : (
          <Text size="sm" c="dimmed">
            Never checked. A check loads the version in a job and runs it on an input made from its signature.
          </Text>
        )}
      </Paper>
    </Section>
  );
}

function CheckButton({ version }: { version: ModelVersion }) {
  const { project, model } = version;
  const start = useCheckVersion({ project, model, version: String(version.version) });
  return (
    <Button
      size="compact-sm"
      variant="default"
      leftSection={<IconStethoscope size={14} aria-hidden />}
      loading={start.isPending}
      onClick={() => void tell(start.mutateAsync())}
    >
      {version.check ? "Check again" : "Check"}
    </Button>
  );
}

function Found({ project, check }: { project: string; check: Check }) {
  return (
    <Stack gap="sm">
      <Group gap="sm">
        <Status state={check.state} />
        <Text size="sm" component="div">
          <Time at={check.at} /> by {check.by}, in{" "}
          <JobLink project={project} job={check.job}>
            job {check.job}
          </JobLink>
        </Text>
      </Group>
      {check.error && (
        <Text size="sm" style={{ overflowWrap: "anywhere" }}>
          {check.error}
        </Text>
      )}
      {check.state === "passed" && <Facts facts={measured(check)} />}
    </Stack>
  );
}

function measured(check: Check): Fact[] {
  const packages = Object.entries(check.packages).map(([name, version]) => `${name} ${version}`);
  return [
    { name: "Backend", value: check.backend ?? "not known" },
    { name: "Latency, median", value: milliseconds(check.median_ms) },
    { name: "p95", value: milliseconds(check.p95_ms) },
    { name: "Load", value: milliseconds(check.load_ms) },
    { name: "Memory", value: formatBytes(check.memory ?? 0) },
    { name: "Memory, at most", value: formatBytes(check.peak_memory ?? 0) },
    { name: "Packages", value: [`Python ${check.python ?? ""}`, ...packages].join(", ") },
  ];
}

function milliseconds(value: number | null | undefined): string {
  return value == null ? "not known" : `${value} ms`;
}

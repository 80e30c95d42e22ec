import { Button, Group, NumberInput, Paper, Switch, Text } from "@mantine/core";
import { useState } from "react";
import { useScaleCluster } from "../../../api/clusters";
import { useMay } from "../../../api/session";
import type { Cluster } from "../../../api/shapes";
import { notifyDone, tell } from "../../../components/notify";
import { Section } from "../../../components/Section";
import { plural } from "../../../lib/quantity";

const MOST = 1000;

/** How many workers it has and why, what its scheduler asks for, and the limits. */
export function Demand({ cluster }: { cluster: Cluster }) {
  return (
    <Section title="Workers" bare>
      <Paper withBorder p="md">
        <Text size="sm">
          {cluster.workers_ready} of {cluster.wanted} ready. {cluster.wanted_reason}
        </Text>
        {cluster.tasks !== null && (
          <Text size="sm" c="dimmed">
            The scheduler has {plural(cluster.tasks, "task")}, {cluster.waiting} of them waiting, and asks for{" "}
            {plural(cluster.desired ?? 0, "worker")}.
          </Text>
        )}
        <Limits cluster={cluster} />
      </Paper>
    </Section>
  );
}

interface Draft {
  adapts: boolean;
  workers: number;
  min: number;
  max: number;
}

function Limits({ cluster }: { cluster: Cluster }) {
  const may = useMay(cluster.project, "member");
  const scale = useScaleCluster({ project: cluster.project, cluster: cluster.name });
  const [draft, setDraft] = useState<Draft | null>(null);
  if (!may) return null;
  const { adapt, wanted } = cluster;
  const shown = draft ?? {
    adapts: adapt !== null,
    workers: wanted,
    min: adapt?.min ?? 1,
    max: adapt?.max ?? Math.max(wanted, 2),
  };
  const change = (part: Partial<Draft>) => setDraft({ ...shown, ...part });
  const save = () => {
    const body = shown.adapts ? { adapt: { min: shown.min, max: shown.max } } : { workers: shown.workers };
    void tell(scale.mutateAsync(body), () => {
      setDraft(null);
      notifyDone(`Cluster ${cluster.name} scaled.`);
    });
  };
  return (
    <Group gap="sm" mt="sm" align="end">
      <Switch
        label="Follow the demand"
        checked={shown.adapts}
        onChange={(event) => change({ adapts: event.currentTarget.checked })}
      />
      {shown.adapts ? (
        <>
          <Amount label="Minimum" value={shown.min} least={0} onChange={(min) => change({ min })} />
          <Amount label="Maximum" value={shown.max} least={1} onChange={(max) => change({ max })} />
        </>
      ) : (
        <Amount label="Workers" value={shown.workers} least={0} onChange={(workers) => change({ workers })} />
      )}
      {draft && (
        <Button onClick={save} loading={scale.isPending} disabled={shown.adapts && shown.min > shown.max}>
          Save
        </Button>
      )}
    </Group>
  );
}

interface AmountProps {
  label: string;
  value: number;
  least: number;
  onChange: (value: number) => void;
}

function Amount({ label, value, least, onChange }: AmountProps) {
  return (
    <NumberInput
      label={label}
      w={96}
      min={least}
      max={MOST}
      allowDecimal={false}
      value={value}
      onChange={(given) => onChange(Number(given) || least)}
    />
  );
}

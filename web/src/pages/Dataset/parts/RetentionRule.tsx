import { Button, Group, NumberInput, Paper, Stack, Text, Title } from "@mantine/core";
import { useState } from "react";
import { useChangeDataset } from "../../../api/datasets";
import { useMay } from "../../../api/session";
import type { Dataset } from "../../../api/shapes";
import { CommandLine } from "../../../components/Copyable";
import { notifyDone, tell } from "../../../components/notify";

type Amount = number | "";

/** Which commits a dataset keeps, beside those that something names. */
export function RetentionRule({ dataset }: { dataset: Dataset }) {
  const may = useMay(dataset.project, "admin") && dataset.kind === "data";
  const change = useChangeDataset({ project: dataset.project, dataset: dataset.name });
  const [last, setLast] = useState<Amount>(dataset.retention?.keep_last ?? "");
  const [days, setDays] = useState<Amount>(dataset.retention?.keep_days ?? "");
  const isChanged =
    last !== (dataset.retention?.keep_last ?? "") || days !== (dataset.retention?.keep_days ?? "");
  const isOff = last === "" && days === "";
  const save = () => {
    const rule = { keep_last: last === "" ? null : last, keep_days: days === "" ? null : days };
    tell(change.mutateAsync({ retention: isOff ? "off" : rule }), () => notifyDone("Saved."));
  };
  const field = { min: 1, allowDecimal: false, readOnly: !may, w: 260, placeholder: "all" };
  return (
    <Paper withBorder p="md" component="section">
      <Title order={2} size="h5" mb="xs">
        Retention
      </Title>
      <Stack gap="sm">
        <Text size="sm">{ruleText(last, days)}</Text>
        <Group align="flex-end">
          <NumberInput
            label="Newest commits of each branch"
            value={last}
            onChange={(value) => setLast(typeof value === "number" ? value : "")}
            max={1_000_000}
            {...field}
          />
          <NumberInput
            label="Commits younger than (days)"
            value={days}
            onChange={(value) => setDays(typeof value === "number" ? value : "")}
            max={100_000}
            {...field}
          />
          {may && (
            <Button variant="light" onClick={save} loading={change.isPending} disabled={!isChanged}>
              Save
            </Button>
          )}
        </Group>
        <Text size="sm" c="dimmed">
          Commits that a branch, tag, job, cache or lineage refers to are always kept. Others are deleted
          after a week in quarantine.
        </Text>
        <CommandLine command={commandFor(dataset, last, days)} />
      </Stack>
    </Paper>
  );
}

function ruleText(last: Amount, days: Amount): string {
  const parts = [
    ...(last === "" ? [] : [`the newest ${last} commits of each branch`]),
    ...(days === "" ? [] : [`commits younger than ${days} days`]),
  ];
  return `Keeps ${parts.length > 0 ? parts.join(" and ") : "everything that a branch or tag reaches"}.`;
}

function commandFor(dataset: Dataset, last: Amount, days: Amount): string {
  const options = [
    ...(last === "" ? [] : [`--keep-last ${last}`]),
    ...(days === "" ? [] : [`--keep-days ${days}`]),
  ];
  const rule = options.length > 0 ? options.join(" ") : "--off";
  return `mill data retention ${dataset.project}/${dataset.name} ${rule}`;
}

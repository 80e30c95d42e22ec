import { Paper, Select, Text, Title } from "@mantine/core";
import { useChangeDataset } from "../../../api/datasets";
import { useMay } from "../../../api/session";
import type { Dataset } from "../../../api/shapes";
import { CommandLine } from "../../../components/Copyable";
import { notifyDone, tell } from "../../../components/notify";
import { shellQuote } from "../../../lib/names";
import { formatSeconds } from "../../../lib/quantity";
import { IDLE_TIMES } from "../../Cache/parts/times";

const DEFAULT = "default";

/** How long cached commits of this dataset stay without use; volumes and single commits may say otherwise. */
export function CacheIdle({ dataset }: { dataset: Dataset }) {
  const may = useMay(dataset.project, "member");
  const change = useChangeDataset({ project: dataset.project, dataset: dataset.name });
  const choose = (value: string) => {
    const cache_idle_seconds = value === DEFAULT ? DEFAULT : Number(value);
    tell(change.mutateAsync({ cache_idle_seconds }), () => notifyDone("Saved."));
  };
  return (
    <Paper withBorder p="md" component="section">
      <Title order={2} size="h5" mb="xs">
        Cached commits
      </Title>
      <Select
        label="Evict after no use for"
        data={choicesFor(dataset.cache_idle_seconds ?? null)}
        value={String(dataset.cache_idle_seconds ?? DEFAULT)}
        onChange={(value) => value && choose(value)}
        allowDeselect={false}
        disabled={!may || change.isPending}
        w={320}
        maw="100%"
      />
      <Text size="sm" c="dimmed" my="xs">
        Commits in use, pinned or held, and the newest commit of a kept branch stay longer.
      </Text>
      <CommandLine command={commandFor(dataset)} />
    </Paper>
  );
}

function choicesFor(own: number | null) {
  const choices = IDLE_TIMES.map(([seconds, label]) => ({ value: String(seconds), label }));
  const known = own === null || IDLE_TIMES.some(([seconds]) => seconds === own);
  return [
    { value: DEFAULT, label: "the volume's default" },
    ...choices,
    ...(known ? [] : [{ value: String(own), label: formatSeconds(own) }]),
  ];
}

function commandFor({ project, name, cache_idle_seconds: idle }: Dataset): string {
  return `mill data set ${shellQuote(`${project}/${name}`)} --cache-idle ${idle == null ? DEFAULT : `${idle}s`}`;
}

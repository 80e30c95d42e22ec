import { ActionIcon, Group, Input, Select, Stack, Text } from "@mantine/core";
import { IconCircleCheck, IconCloudDownload, IconX } from "@tabler/icons-react";
import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { commitQuery, commitsQuery } from "../../../api/commits";
import { datasetsQuery, refsQuery } from "../../../api/datasets";
import { itemsOf } from "../../../api/paging";
import type { Commit } from "../../../api/shapes";
import { shortId, splitWritten } from "../../../lib/names";
import { formatBytes } from "../../../lib/quantity";

interface Props {
  project: string;
  /** As the command line takes them: `dataset`, `dataset@ref`, `project/dataset@ref`. */
  inputs: readonly string[];
  onChange: (inputs: string[]) => void;
}

/** The datasets a job reads, each at a branch, tag or commit, and whether that is cached near the compute. */
export function DataRows({ project, inputs, onChange }: Props) {
  const found = itemsOf(useInfiniteQuery(datasetsQuery({})).data);
  const names = found.map((dataset) =>
    dataset.project === project ? dataset.name : `${dataset.project}/${dataset.name}`,
  );
  const replaced = (place: number, written: string | null) =>
    inputs.flatMap((input, other) => (other === place ? (written ? [written] : []) : [input]));
  return (
    <Stack gap={6} role="group" aria-label="Data">
      <div>
        <Input.Label>Data</Input.Label>
        <Input.Description>Read it from $MILL_DATA_&lt;DATASET&gt;.</Input.Description>
      </div>
      {inputs.map((input, place) => (
        <Row
          key={place}
          project={project}
          input={input}
          onChange={(written) => onChange(replaced(place, written))}
        />
      ))}
      <Select
        aria-label="Add a dataset"
        placeholder={inputs.length > 0 ? "Add another dataset" : "Add a dataset"}
        searchable
        clearable={false}
        limit={50}
        data={[...new Set(names)].filter((name) => !inputs.some((input) => datasetOf(input) === name))}
        value={null}
        onChange={(name) => name && onChange([...inputs, name])}
      />
    </Stack>
  );
}

interface RowProps {
  project: string;
  input: string;
  onChange: (written: string | null) => void;
}

function Row({ project, input, onChange }: RowProps) {
  const dataset = datasetOf(input);
  const ref = input.includes("@") ? input.slice(input.indexOf("@") + 1) : "main";
  const written = dataset.includes("/") ? splitWritten(dataset) : { project, name: dataset };
  const place = { project: written.project, dataset: written.name };
  const refs = useQuery({ ...refsQuery(place), retry: false }).data?.items ?? [];
  const commits = itemsOf(useInfiniteQuery({ ...commitsQuery(place), retry: false }).data).slice(0, 50);
  const chosen = useQuery({ ...commitQuery({ ...place, ref }), retry: false });
  const named = (type: "branch" | "tag") => refs.filter((one) => one.type === type).map((one) => one.name);
  const groups = [
    { group: "Branches", items: named("branch") },
    { group: "Tags", items: named("tag") },
    { group: "Commits", items: commits.map((commit) => ({ value: commit.id, label: wordsOf(commit) })) },
  ];
  const known = groups.some(({ items }) =>
    items.some((item) => (typeof item === "string" ? item : item.value) === ref),
  );
  if (!known) groups.unshift({ group: "Chosen", items: [{ value: ref, label: shortId(ref) }] });
  return (
    <div>
      <Group gap={6} wrap="nowrap">
        <Text size="sm" fw={600} flex={1} truncate title={dataset}>
          {dataset}
        </Text>
        <Select
          flex={2}
          aria-label={`Commit of ${dataset}`}
          searchable
          allowDeselect={false}
          data={groups.filter(({ items }) => items.length > 0)}
          value={ref}
          onChange={(next) => next && onChange(next === "main" ? dataset : `${dataset}@${next}`)}
        />
        <ActionIcon
          variant="subtle"
          color="gray"
          aria-label={`Remove ${dataset}`}
          onClick={() => onChange(null)}
        >
          <IconX size={16} />
        </ActionIcon>
      </Group>
      {chosen.data && <Cached commit={chosen.data} />}
      {chosen.error && (
        <Text size="xs" c="red">
          {chosen.error.message}
        </Text>
      )}
    </div>
  );
}

/** Whether the job finds the data near the compute, or has it fetched first. */
function Cached({ commit }: { commit: Commit }) {
  const ready = commit.cached_on.filter(({ state }) => state === "ready").map(({ volume }) => volume);
  const size = formatBytes(commit.bytes);
  return (
    <Group gap={4} c="dimmed" mt={2}>
      {ready.length > 0 ? (
        <IconCircleCheck size={14} aria-hidden />
      ) : (
        <IconCloudDownload size={14} aria-hidden />
      )}
      <Text size="xs">
        {shortId(commit.id)}, {size}:{" "}
        {ready.length > 0 ? `cached on ${ready.join(", ")}` : "not cached, fetched while the job waits"}
      </Text>
    </Group>
  );
}

function datasetOf(input: string): string {
  return input.split("@")[0] ?? input;
}

function wordsOf(commit: Commit): string {
  const cached = commit.cached_on.some(({ state }) => state === "ready") ? " (cached)" : "";
  return `${shortId(commit.id)} ${commit.message.split("\n")[0] ?? ""}${cached}`;
}

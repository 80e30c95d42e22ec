import { Group, SegmentedControl, Switch, Text, TextInput } from "@mantine/core";
import { IconSearch } from "@tabler/icons-react";
import { useMemo, useState } from "react";
import { formatMetric } from "../../../lib/metric";
import type { ComparedRun } from "../Compare";
import { differing, fieldsOf, fieldValue } from "../fields";
import { type CompareSearch, METRIC_VALUES, type MetricValue } from "../tabs";
import { Matrix, type MatrixRow } from "./Matrix";

interface Props {
  compared: readonly ComparedRun[];
  search: CompareSearch;
  onChange: (part: CompareSearch) => void;
}

const TITLES = [
  ["params", "Parameters"],
  ["metrics", "Metrics"],
  ["tags", "Tags"],
] as const;

/** Parameters, metrics and tags, a column for each run; those in which runs differ, unless all are asked for. */
export function ValuesTab({ compared, search, onChange }: Props) {
  const [text, setText] = useState("");
  const value = search.value ?? "last";
  const rows = useMemo(
    () => rowsOf(compared, { value, all: !!search.all, text }),
    [compared, value, search.all, text],
  );
  return (
    <>
      <Group mb="sm">
        <TextInput
          type="search"
          size="xs"
          w={220}
          aria-label="Search keys"
          placeholder="Search keys"
          leftSection={<IconSearch size={14} aria-hidden />}
          value={text}
          onChange={(event) => setText(event.currentTarget.value)}
        />
        <Switch
          size="xs"
          label="Differences only"
          checked={!search.all}
          onChange={(event) => onChange({ all: event.currentTarget.checked ? undefined : true })}
        />
        <Group gap="xs">
          <Text size="xs">Metrics</Text>
          <SegmentedControl
            size="xs"
            aria-label="Value of metrics"
            data={[...METRIC_VALUES]}
            value={value}
            onChange={(next) => onChange({ value: next === "last" ? undefined : (next as MetricValue) })}
          />
        </Group>
      </Group>
      {rows.length === 0 ? (
        <Text size="sm">
          {text ? "No key matches." : "The runs are alike in all parameters, metrics and tags."}
        </Text>
      ) : (
        <Matrix label="Values of the compared runs" compared={compared} rows={rows} />
      )}
    </>
  );
}

interface Wanted {
  value: MetricValue;
  all: boolean;
  text: string;
}

export function rowsOf(compared: readonly ComparedRun[], { value, all, text }: Wanted): MatrixRow[] {
  const runs = compared.map(({ run }) => run);
  const every = fieldsOf(runs).filter((field) => field.toLowerCase().includes(text.toLowerCase()));
  const differ = new Set(differing(runs, every));
  const shown = all ? every : every.filter((field) => differ.has(field));
  return TITLES.flatMap(([kind, title]) => {
    const fields = shown.filter((field) => field.startsWith(`${kind}.`));
    if (fields.length === 0) return [];
    const rows = fields.map((field) => ({
      key: field.slice(kind.length + 1),
      // Measured values are hardly ever alike.
      differs: kind !== "metrics" && differ.has(field),
      values: runs.map((run) => written(fieldValue(run, field, value), kind === "metrics")),
    }));
    return [{ key: title, title: true, differs: false, values: [] }, ...rows];
  });
}

function written(value: string | number | undefined, metric: boolean): string {
  if (value === undefined) return "–";
  return metric && typeof value === "number" ? formatMetric(value) : String(value);
}

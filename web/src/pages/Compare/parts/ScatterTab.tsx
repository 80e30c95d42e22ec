import { Group, Paper, Select, Switch, Text, useComputedColorScheme } from "@mantine/core";
import { useNavigate } from "@tanstack/react-router";
import { useMemo, useState } from "react";
import { Figure } from "../../../components/figures/Figure";
import { formatMetric } from "../../../lib/metric";
import { type ComparedValues, differing, fieldsOf, fieldValue, numbersOf } from "../fields";
import type { CompareSearch } from "../tabs";
import { FieldTable } from "./FieldTable";

interface Props {
  compared: readonly ComparedValues[];
  search: CompareSearch;
  onChange: (part: CompareSearch) => void;
}

/** One value against another, a dot for each run. */
export function ScatterTab({ compared, search, onChange }: Props) {
  const scheme = useComputedColorScheme("light");
  const navigate = useNavigate();
  const [table, setTable] = useState(false);
  const runs = useMemo(() => compared.map(({ run }) => run), [compared]);
  const fields = useMemo(() => fieldsOf(runs).filter((field) => numbersOf(runs, field) !== null), [runs]);
  const usual = useMemo(() => usualFields(differing(runs, fields)), [runs, fields]);
  const x = search.sx ?? usual[0];
  const y = search.sy ?? usual[1];
  const option = useMemo(
    () => (x && y ? scatterOption(compared, { x, y, color: search.sc, scheme }) : null),
    [compared, x, y, search.sc, scheme],
  );
  if (!x || !y || !option) {
    return <Text size="sm">These runs have no two numbers in which they differ.</Text>;
  }
  const choices = { fields, onChange };
  const open = ({ dataIndex }: { dataIndex: number }) => {
    const run = runs[dataIndex];
    if (run) {
      void navigate({ to: "/projects/$project/runs/$run", params: { project: run.project, run: run.id } });
    }
  };
  return (
    <>
      <Group mb="sm" align="flex-end">
        <FieldChoice label="Horizontal" value={x} {...choices} name="sx" />
        <FieldChoice label="Vertical" value={y} {...choices} name="sy" />
        <FieldChoice label="Colour" value={search.sc} {...choices} name="sc" clearable />
        <Switch size="xs" label="As a table" checked={table} onChange={() => setTable(!table)} />
      </Group>
      <Paper withBorder p="sm">
        {table ? (
          <FieldTable compared={compared} fields={[x, y, ...(search.sc ? [search.sc] : [])]} />
        ) : (
          <Figure
            label={`${y} against ${x}, ${runs.length} runs`}
            height={460}
            option={option}
            on={{ click: open }}
          />
        )}
      </Paper>
    </>
  );
}

interface ChoiceProps {
  label: string;
  name: "sx" | "sy" | "sc";
  value: string | undefined;
  fields: readonly string[];
  onChange: (part: CompareSearch) => void;
  clearable?: boolean;
}

function FieldChoice({ label, name, value, fields, onChange, clearable }: ChoiceProps) {
  return (
    <Select
      size="xs"
      w={210}
      label={label}
      searchable
      clearable={clearable}
      clearButtonProps={{ "aria-label": `No ${label.toLowerCase()}` }}
      limit={100}
      data={[...fields]}
      value={value ?? null}
      onChange={(field) => onChange({ [name]: field ?? undefined })}
    />
  );
}

/** A parameter against a measure of success, if there are such. */
export function usualFields(fields: readonly string[]): readonly [string?, string?] {
  const metrics = fields.filter((field) => field.startsWith("metrics."));
  const best = metrics.find((field) => /val|test|eval/i.test(field)) ?? metrics[0];
  const params = fields.filter((field) => field.startsWith("params."));
  const x = params[0] ?? metrics.find((field) => field !== best);
  return [x, best ?? params.find((field) => field !== x)];
}

interface Axes {
  x: string;
  y: string;
  color: string | undefined;
  scheme: "light" | "dark";
}

function scatterOption(compared: readonly ComparedValues[], { x, y, color, scheme }: Axes) {
  const runs = compared.map(({ run }) => run);
  const [xs, ys] = [numbersOf(runs, x), numbersOf(runs, y)];
  const colors = color ? numbersOf(runs, color) : null;
  const data = runs.map((run, place) => ({
    name: run.name,
    value: [xs?.[place] ?? "-", ys?.[place] ?? "-", colors?.[place] ?? "-"],
    itemStyle: colors ? undefined : { color: compared[place]?.color },
  }));
  return {
    grid: { left: 70, right: colors ? 90 : 24, top: 20, bottom: 50 },
    tooltip: {
      confine: true,
      // As text: names are what users wrote.
      renderMode: "richText",
      formatter: ({ dataIndex }: { dataIndex: number }) => tooltipOf(compared[dataIndex], [x, y, color]),
    },
    xAxis: axisOf(x, xs),
    yAxis: axisOf(y, ys),
    visualMap: colors ? [rampOf(colors, 2, scheme)] : [],
    series: [{ type: "scatter", symbolSize: 11, data, itemStyle: { opacity: 0.85 } }],
  };
}

function tooltipOf(compared: ComparedValues | undefined, fields: readonly (string | undefined)[]): string {
  if (!compared) return "";
  const lines = fields
    .filter((field) => field !== undefined)
    .map((field) => `${field}: ${fieldValue(compared.run, field)}`);
  return [compared.run.name, ...lines].join("\n");
}

/** Values that spread over more than two powers of ten are seen on a logarithmic axis. */
export function axisOf(name: string, values: readonly (number | null)[] | null) {
  const known = (values ?? []).filter((value) => value !== null);
  const isWide = known.every((value) => value > 0) && Math.max(...known) >= 100 * Math.min(...known);
  return {
    type: isWide ? "log" : "value",
    name,
    nameLocation: "middle",
    nameGap: 30,
    scale: true,
    axisLabel: { formatter: formatMetric },
    splitLine: { lineStyle: { opacity: 0.25 } },
  };
}

/** From violet to yellow, as good as even for those who do not see all colours. */
const RAMP = ["#5b2a86", "#3b6fb6", "#1fa187", "#8fd744", "#f0c808"];

export function rampOf(values: readonly (number | null)[], dimension: number, scheme: "light" | "dark") {
  const known = values.filter((value) => value !== null);
  return {
    type: "continuous",
    dimension,
    min: Math.min(...known),
    max: Math.max(...known),
    calculable: true,
    right: 0,
    top: "middle",
    precision: 4,
    inRange: { color: RAMP },
    textStyle: { color: scheme === "dark" ? "#c1c2c5" : "#495057" },
  };
}

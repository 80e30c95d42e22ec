import {
  Button,
  Checkbox,
  Group,
  Popover,
  ScrollArea,
  SegmentedControl,
  Stack,
  Text,
  TextInput,
} from "@mantine/core";
import { IconColumns3, IconSearch } from "@tabler/icons-react";
import { useMemo, useState } from "react";
import type { RunKeys } from "../../../api/shapes";
import { byName } from "../../../lib/metric";
import {
  ATTRIBUTES,
  type Attribute,
  type Field,
  METRIC_VALUES,
  type MetricValue,
  writeField,
} from "./fields";

/** Of thousands of keys so many are listed: the search finds the others. */
const MOST = 60;

interface Props {
  fields: readonly Field[];
  keys: RunKeys | undefined;
  onChange: (fields: Field[] | undefined) => void;
}

/** Which columns are shown: attributes, and of parameters, metrics and tags those that runs of the list have. */
export function ColumnPicker({ fields, keys, onChange }: Props) {
  const [text, setText] = useState("");
  const [value, setValue] = useState<MetricValue>("last");
  const sections = useMemo(() => sectionsOf(keys, value), [keys, value]);
  const chosen = new Set(fields.map(writeField));
  const toggle = (field: Field) => {
    const written = writeField(field);
    onChange(
      chosen.has(written) ? fields.filter((other) => writeField(other) !== written) : [...fields, field],
    );
  };
  return (
    <Popover position="bottom-end" width={320} withinPortal trapFocus>
      <Popover.Target>
        <Button variant="default" leftSection={<IconColumns3 size={16} aria-hidden />}>
          Columns
        </Button>
      </Popover.Target>
      <Popover.Dropdown p="sm" aria-label="Columns">
        <Stack gap="xs">
          <TextInput
            type="search"
            size="xs"
            aria-label="Search columns"
            placeholder="Search parameters, metrics, tags"
            leftSection={<IconSearch size={14} aria-hidden />}
            value={text}
            onChange={(event) => setText(event.currentTarget.value)}
            data-autofocus
          />
          <Group gap="xs">
            <Text size="xs">Metrics</Text>
            <SegmentedControl
              size="xs"
              aria-label="Value of metrics"
              data={[...METRIC_VALUES]}
              value={value}
              onChange={(next) => setValue(next as MetricValue)}
            />
          </Group>
          <ScrollArea.Autosize
            mah={340}
            type="auto"
            viewportProps={{ tabIndex: 0, "aria-label": "Columns to show" }}
          >
            <Stack gap="sm">
              {sections.map(({ title, all }) => (
                <Section key={title} title={title} all={all} text={text} chosen={chosen} onToggle={toggle} />
              ))}
            </Stack>
          </ScrollArea.Autosize>
          <Group justify="space-between">
            <Text size="xs" c="dimmed">
              {fields.length} shown
            </Text>
            <Button size="compact-xs" variant="subtle" onClick={() => onChange(undefined)}>
              Reset
            </Button>
          </Group>
        </Stack>
      </Popover.Dropdown>
    </Popover>
  );
}

interface SectionProps {
  title: string;
  all: readonly [string, Field][];
  text: string;
  chosen: ReadonlySet<string>;
  onToggle: (field: Field) => void;
}

function Section({ title, all, text, chosen, onToggle }: SectionProps) {
  const found = all.filter(([name]) => name.toLowerCase().includes(text.trim().toLowerCase()));
  if (found.length === 0) return null;
  return (
    <Stack gap={6} role="group" aria-label={title}>
      <Text size="xs" fw={600}>
        {title}
      </Text>
      {found.slice(0, MOST).map(([name, field]) => (
        <Checkbox
          key={writeField(field)}
          size="xs"
          label={name}
          styles={{ label: { overflowWrap: "anywhere" } }}
          checked={chosen.has(writeField(field))}
          onChange={() => onToggle(field)}
        />
      ))}
      {found.length > MOST && (
        <Text size="xs" c="dimmed">
          {(found.length - MOST).toLocaleString("en")} more: search for them
        </Text>
      )}
    </Stack>
  );
}

function sectionsOf(keys: RunKeys | undefined, value: MetricValue) {
  const names = (some: RunKeys["params"] | undefined) => (some ?? []).map(({ key }) => key).sort(byName);
  const pairs = (some: string[], field: (key: string) => Field) =>
    some.map((key) => [key, field(key)] as [string, Field]);
  return [
    { title: "Metrics", all: pairs(names(keys?.metrics), (key) => ({ kind: "metrics", key, value })) },
    { title: "Parameters", all: pairs(names(keys?.params), (key) => ({ kind: "params", key })) },
    { title: "Tags", all: pairs(names(keys?.tags), (key) => ({ kind: "tags", key })) },
    {
      title: "Run",
      all: (Object.keys(ATTRIBUTES) as Attribute[]).map(
        (key) => [ATTRIBUTES[key], { kind: "attributes", key }] as [string, Field],
      ),
    },
  ];
}

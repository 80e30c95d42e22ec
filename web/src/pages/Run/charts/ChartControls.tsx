import { Group, SegmentedControl, Slider, Switch, Text, TextInput } from "@mantine/core";
import { useDebouncedCallback } from "@mantine/hooks";
import { IconSearch } from "@tabler/icons-react";
import { type ReactNode, useState } from "react";
import { AXIS_NAMES } from "../../../components/curves/axes";
import { X_AXES, type XAxis } from "../../../lib/curves";
import type { ChartSettings } from "./settings";

interface Props {
  settings: ChartSettings;
  onChange: (part: ChartSettings) => void;
  /** How many keys there are to search in. */
  keys: number;
  children?: ReactNode;
}

/** What all charts of a board have in common: axis, smoothing, scale, and which of them are shown. */
export function ChartControls({ settings, onChange, keys, children }: Props) {
  const [smooth, setSmooth] = useState(settings.smooth ?? 0);
  const [text, setText] = useState(settings.keys ?? "");
  const tell = useDebouncedCallback(onChange, 150);
  return (
    <Group gap="md" mb="sm" role="group" aria-label="Chart settings">
      <TextInput
        type="search"
        size="xs"
        w={200}
        aria-label="Search metrics"
        placeholder={keys > 1 ? `Search ${keys.toLocaleString("en")} metrics` : "Search metrics"}
        leftSection={<IconSearch size={14} aria-hidden />}
        value={text}
        onChange={(event) => {
          setText(event.currentTarget.value);
          tell({ keys: event.currentTarget.value || undefined });
        }}
      />
      <SegmentedControl
        size="xs"
        aria-label="Horizontal axis"
        data={X_AXES.map((axis) => ({ value: axis, label: AXIS_NAMES[axis] }))}
        value={settings.x ?? "step"}
        onChange={(axis) => onChange({ x: axis === "step" ? undefined : (axis as XAxis) })}
      />
      <Group gap="xs" wrap="nowrap">
        <Text size="xs">Smoothing</Text>
        <Slider
          size="sm"
          w={110}
          min={0}
          max={99}
          label={(value) => (value / 100).toFixed(2)}
          thumbLabel="Smoothing"
          value={smooth}
          onChange={(value) => {
            setSmooth(value);
            tell({ smooth: value || undefined });
          }}
        />
      </Group>
      <Switch
        size="xs"
        label="Log scale"
        checked={!!settings.log}
        onChange={(event) => onChange({ log: event.currentTarget.checked || undefined })}
      />
      {children}
    </Group>
  );
}

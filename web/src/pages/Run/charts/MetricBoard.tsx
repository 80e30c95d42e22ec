import { Button, Group, Text, UnstyledButton } from "@mantine/core";
import { IconChevronDown, IconChevronRight } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";
import { type ReactNode, useMemo, useState } from "react";
import { seriesQuery } from "../../../api/series";
import { CursorContext, CursorStore } from "../../../components/curves/cursor";
import { type Section, sectionsOf } from "../../../lib/metric";
import { plural } from "../../../lib/quantity";
import { ChartControls } from "./ChartControls";
import type { ChartRun, Drawn } from "./curvesOf";
import { MetricChart } from "./MetricChart";
import type { ChartSettings } from "./settings";

/** So many charts of a section are there at first, and so many more each time somebody asks. */
const AT_ONCE = 60;
const NO_EPOCHS: Drawn["epochs"] = new Map();

interface Props {
  project: string;
  runs: readonly ChartRun[];
  /** Of all metrics of these runs. */
  keys: readonly string[];
  settings: ChartSettings;
  onSettings: (part: ChartSettings) => void;
  live: boolean;
  /** Shared with others that point at runs, like a row of names. */
  cursor?: CursorStore;
  /** More settings, beside those of all boards. */
  children?: ReactNode;
}

/** A chart for each metric of one or many runs, under one cursor. Keys of the same name on other data share a chart. */
export function MetricBoard({ project, runs, keys, settings, onSettings, live, cursor, children }: Props) {
  const [own] = useState(() => new CursorStore());
  const sections = useMemo(() => sectionsOf(keys.filter(matching(settings.keys))), [keys, settings.keys]);
  const axis = settings.x ?? "step";
  const epochs = useEpochs(project, runs, axis === "epoch");
  const smooth = (settings.smooth ?? 0) / 100;
  const without = axis === "epoch" ? runs.filter((run) => !epochs.has(run.id)).length : 0;
  const common = { project, runs, live, axis, smooth, epochs, log: !!settings.log };
  return (
    <CursorContext value={cursor ?? own}>
      <ChartControls settings={settings} onChange={onSettings} keys={keys.length}>
        {children}
      </ChartControls>
      {without > 0 && (
        <Text size="xs" c="dimmed" mb="xs">
          {plural(without, "run has", "runs have")} no metric named epoch: steps are shown instead.
        </Text>
      )}
      {sections.length === 0 && <Text size="sm">No metric matches.</Text>}
      {sections.map((section) => (
        <BoardSection key={section.name} section={section} alone={sections.length === 1} {...common} />
      ))}
    </CursorContext>
  );
}

interface SectionProps extends Drawn {
  section: Section;
  alone: boolean;
  project: string;
  runs: readonly ChartRun[];
  live: boolean;
  log: boolean;
}

function BoardSection({ section, alone, ...common }: SectionProps) {
  const [opened, setOpened] = useState(true);
  const [most, setMost] = useState(AT_ONCE);
  const rest = section.groups.length - most;
  return (
    <section aria-label={section.name || "Metrics"}>
      {!alone && (
        <UnstyledButton my="xs" aria-expanded={opened} onClick={() => setOpened(!opened)}>
          <Group gap={4}>
            {opened ? <IconChevronDown size={16} aria-hidden /> : <IconChevronRight size={16} aria-hidden />}
            <Text fw={600} size="sm">
              {section.name || "Metrics"}
            </Text>
            <Text size="xs" c="dimmed">
              {section.groups.length}
            </Text>
          </Group>
        </UnstyledButton>
      )}
      {opened && (
        <div className="chart-grid">
          {section.groups.slice(0, most).map((group) => (
            <MetricChart key={group.name} group={group} {...common} />
          ))}
        </div>
      )}
      {opened && rest > 0 && (
        <Button mt="sm" size="xs" variant="default" onClick={() => setMost(most + AT_ONCE)}>
          Show {Math.min(rest, AT_ONCE)} more of {plural(section.groups.length, "chart")}
        </Button>
      )}
    </section>
  );
}

function matching(text: string | undefined) {
  const low = text?.toLowerCase() ?? "";
  return (key: string) => key.toLowerCase().includes(low);
}

function useEpochs(project: string, runs: readonly ChartRun[], wanted: boolean): Drawn["epochs"] {
  const ids = useMemo(() => runs.map((run) => run.id), [runs]);
  const { data } = useQuery({ ...seriesQuery({ project, runs: ids, keys: ["epoch"] }), enabled: wanted });
  return useMemo(
    () => (wanted && data ? new Map(data.map((series) => [series.run, series])) : NO_EPOCHS),
    [wanted, data],
  );
}

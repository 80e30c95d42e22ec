import { Breadcrumbs, Button, useComputedColorScheme } from "@mantine/core";
import { IconArrowsDiff, IconPlus, IconRefresh } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";
import { getRouteApi, useNavigate } from "@tanstack/react-router";
import { useMemo, useState } from "react";
import { queries } from "../../api/client";
import { comparisonQuery } from "../../api/runs";
import type { Run } from "../../api/shapes";
import { CopyIcon } from "../../components/Copyable";
import { CursorStore } from "../../components/curves/cursor";
import { EmptyState } from "../../components/EmptyState";
import { Loaded } from "../../components/Loaded";
import { PageHeader } from "../../components/PageHeader";
import { TabBar } from "../../components/TabBar";
import { TextLink } from "../../components/TextLink";
import { plural } from "../../lib/quantity";
import { colorNumbers, colorOf } from "../../lib/runColors";
import { ChartsTab } from "./parts/ChartsTab";
import { ImagesTab } from "./parts/ImagesTab";
import { ParallelTab } from "./parts/ParallelTab";
import { RunChips } from "./parts/RunChips";
import { ScatterTab } from "./parts/ScatterTab";
import { ValuesTab } from "./parts/ValuesTab";
import { COMPARE_TABS, type CompareSearch, type CompareTab, idsOf } from "./tabs";

const route = getRouteApi("/in/projects/$project/runs/compare");
const NAMES: Record<CompareTab, string> = {
  charts: "Charts",
  values: "Parameters & metrics",
  scatter: "Scatter",
  parallel: "Parallel coordinates",
  images: "Images",
};
const LIVE_MS = 5_000;

/** A run with its colour, as every tab draws it. */
export interface ComparedRun {
  readonly run: Run;
  readonly color: string;
}

/** Runs side by side. All that is chosen is in the address, so that it can be sent to a colleague. */
export function Compare() {
  const { project } = route.useParams();
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const ids = useMemo(() => idsOf(search.runs), [search.runs]);
  const result = useQuery({
    ...comparisonQuery(project, ids),
    enabled: ids.length > 0,
    refetchInterval: ({ state }) => (state.data?.runs.some(isRunning) ? LIVE_MS : false),
  });
  const change = (part: CompareSearch) =>
    void navigate({ search: (before) => ({ ...before, ...part }), replace: true });
  return (
    <>
      <PageHeader
        title={ids.length > 0 ? `Compare ${plural(ids.length, "run")}` : "Compare runs"}
        above={
          <Breadcrumbs mb={4} fz="sm">
            <TextLink to="/runs" search={{ project }} size="sm">
              Runs
            </TextLink>
            <TextLink to="/projects/$project" params={{ project }} size="sm">
              {project}
            </TextLink>
          </Breadcrumbs>
        }
        actions={<Actions project={project} ids={ids} fetching={result.isFetching} />}
      />
      {ids.length === 0 ? (
        <NothingChosen project={project} />
      ) : (
        <Loaded result={result}>
          {({ runs }) => <Compared project={project} runs={runs} search={search} onChange={change} />}
        </Loaded>
      )}
    </>
  );
}

function Actions({ project, ids, fetching }: { project: string; ids: string[]; fetching: boolean }) {
  const navigate = useNavigate();
  const more = () => void navigate({ to: "/runs", search: { project, chosen: ids.join(",") || undefined } });
  return (
    <>
      {ids.length > 0 && <CopyIcon value={`mill run compare ${ids.join(" ")}`} label="Copy as command" />}
      <Button variant="default" leftSection={<IconPlus size={16} aria-hidden />} onClick={more}>
        Add runs
      </Button>
      <Button
        variant="default"
        leftSection={<IconRefresh size={16} aria-hidden />}
        loading={fetching}
        onClick={() => void queries.invalidateQueries({ queryKey: ["runs"] })}
      >
        Refresh
      </Button>
    </>
  );
}

interface ComparedProps {
  project: string;
  runs: Run[];
  search: CompareSearch;
  onChange: (part: CompareSearch) => void;
}

function Compared({ project, runs, search, onChange }: ComparedProps) {
  const scheme = useComputedColorScheme("light");
  const [cursor] = useState(() => new CursorStore());
  const compared = useMemo(() => {
    const colors = colorNumbers(runs.map((run) => run.id));
    return runs.map((run, place) => ({ run, color: colorOf(colors[place] ?? 0, scheme) }));
  }, [runs, scheme]);
  const hidden = useMemo(() => new Set(idsOf(search.hidden)), [search.hidden]);
  const shown = useMemo(() => compared.filter(({ run }) => !hidden.has(run.id)), [compared, hidden]);
  const written = (ids: Iterable<string>) => [...ids].join(",") || undefined;
  const tab = search.tab ?? "charts";
  const common = { project, compared: shown, search, onChange };
  return (
    <>
      <RunChips
        compared={compared}
        hidden={hidden}
        cursor={cursor}
        onHide={(ids) => onChange({ hidden: written(ids) })}
        onRemove={(id) =>
          onChange({ runs: written(runs.map((run) => run.id).filter((other) => other !== id)) ?? "" })
        }
      />
      <TabBar
        label="Comparison"
        tabs={COMPARE_TABS}
        names={NAMES}
        value={tab}
        onChange={(next) => onChange({ tab: next === "charts" ? undefined : next })}
      >
        {tab === "charts" && <ChartsTab {...common} cursor={cursor} live={runs.some(isRunning)} />}
        {tab === "values" && <ValuesTab {...common} />}
        {tab === "scatter" && <ScatterTab {...common} />}
        {tab === "parallel" && <ParallelTab {...common} />}
        {tab === "images" && <ImagesTab {...common} />}
      </TabBar>
    </>
  );
}

function NothingChosen({ project }: { project: string }) {
  return (
    <EmptyState
      icon={IconArrowsDiff}
      sentence="Select two or more runs in the list of runs, then choose Compare."
      action={
        <TextLink to="/runs" search={{ project }}>
          Show runs
        </TextLink>
      }
      command="mill run compare RUN RUN"
    />
  );
}

function isRunning(run: Run): boolean {
  return run.state === "running";
}

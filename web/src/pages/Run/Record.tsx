import { Stack } from "@mantine/core";
import { useState } from "react";
import { LineageView } from "../../components/lineage/LineageView";
import { TabBar } from "../../components/TabBar";
import { useTopic } from "../../hooks/useLive";
import { isFinished } from "../Job/parts/states";
import { UsageCharts } from "../Job/parts/UsageCharts";
import { ArtifactsTab } from "./parts/ArtifactsTab";
import { CodeTab } from "./parts/CodeTab";
import { LogTab } from "./parts/LogTab";
import { MetricCharts } from "./parts/MetricCharts";
import { OverviewTab } from "./parts/OverviewTab";
import { RunHeader } from "./parts/RunHeader";
import { RunSummary } from "./parts/RunSummary";
import { firstTab, type Recorded, RUN_TAB_LABELS, type RunSearch, type RunTab, tabsOf } from "./tabs";

interface Props extends Recorded {
  search: RunSearch;
  onSearch: (search: RunSearch) => void;
}

/** One page for a job and its run, or for the run of a script. */
export function RunRecord({ run, job, search, onSearch }: Props) {
  const recorded = { run, job };
  const ended = job ? isFinished(job.state) : run.state !== "running";
  // Chosen once: a job that fails while somebody reads does not turn the page.
  const [first] = useState(() => firstTab(recorded));
  const tabs = tabsOf(recorded);
  const tab = search.tab && tabs.includes(search.tab) ? search.tab : first;
  useTopic(ended ? null : `run:${run.id}`);
  return (
    <Stack gap={0}>
      <RunHeader {...recorded} />
      <RunSummary {...recorded} brief={tab !== "overview"} />
      <TabBar
        label={`Parts of ${run.name}`}
        tabs={tabs}
        names={RUN_TAB_LABELS}
        value={tab}
        onChange={(chosen: RunTab) => onSearch({ tab: chosen })}
      >
        {tab === "overview" && <OverviewTab {...recorded} />}
        {tab === "metrics" && (
          <MetricCharts place={{ project: run.project, run: run.id }} ended={ended} heading={false} />
        )}
        {tab === "log" && job && <LogTab job={job} />}
        {tab === "system" && job && <UsageCharts job={job} />}
        {tab === "artifacts" && <ArtifactsTab run={run} search={search} onSearch={onSearch} />}
        {tab === "code" && <CodeTab {...recorded} search={search} onSearch={onSearch} />}
        {tab === "lineage" && (
          <LineageView project={run.project} root={{ run: run.id }} command={`mill run lineage ${run.id}`} />
        )}
      </TabBar>
    </Stack>
  );
}

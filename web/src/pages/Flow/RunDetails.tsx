/** One run of a flow: the same graph, live; each step with its state, job, data and what it made. */
import { Alert, Breadcrumbs, Button, Group, Menu, Paper, Text } from "@mantine/core";
import { useMediaQuery } from "@mantine/hooks";
import { IconArrowsDiff, IconPlayerStop, IconRefresh } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";
import { getRouteApi, useNavigate } from "@tanstack/react-router";
import { ReactFlowProvider } from "@xyflow/react";
import { useMemo, useRef } from "react";
import {
  flowRunQuery,
  flowRunsQuery,
  libraryQuery,
  useCancelFlowRun,
  useRetryFlowRun,
} from "../../api/flows";
import { isNotFound } from "../../api/problem";
import type { FlowRun } from "../../api/shapes";
import { CommitLink } from "../../components/CommitLink";
import { Duration } from "../../components/Duration";
import { Loaded } from "../../components/Loaded";
import { NotFound } from "../../components/NotFound";
import { notifyError } from "../../components/notify";
import { PageHeader } from "../../components/PageHeader";
import { Status } from "../../components/Status";
import { TabBar } from "../../components/TabBar";
import { TextLink } from "../../components/TextLink";
import { Time } from "../../components/Time";
import { useTopic } from "../../hooks/useLive";
import { useRoomBelow } from "../../hooks/useRoomBelow";
import { readGraph } from "../../lib/flow/graph";
import { Canvas } from "./editor/Canvas";
import { writeValue } from "./editor/inspector/values";
import { Side } from "./editor/Side";
import { StepFooter } from "./parts/StepFooter";
import { StepPanel } from "./parts/StepPanel";
import { StepRuns } from "./parts/StepRuns";
import { startedBy } from "./parts/startedBy";
import { byStep, progressWords } from "./parts/stepStates";
import { Timeline } from "./parts/Timeline";
import { FLOW_RUN_TABS } from "./tabs";

const route = getRouteApi("/in/projects/$project/flow-runs/$run");
const ROUTE = "/projects/$project/flow-runs/$run";
const NAMES = { graph: "Graph", steps: "Steps", timeline: "Timeline" };

export function FlowRunDetails() {
  const { project, run } = route.useParams();
  const result = useQuery(flowRunQuery({ project, flow_run: run }));
  useTopic(result.data && !result.data.ended_at ? `flow-run:${result.data.id}` : null);
  if (isNotFound(result.error)) return <NotFound message={result.error?.message} />;
  return <Loaded result={result}>{(found) => <Parts run={found} />}</Loaded>;
}

function Parts({ run }: { run: FlowRun }) {
  const { tab = "graph", step: selected = null } = route.useSearch();
  const navigate = useNavigate();
  const place = { project: run.project, run: run.id };
  const choose = (step: string | null) =>
    void navigate({ to: ROUTE, params: place, search: { tab, step: step ?? undefined }, replace: true });
  const frame = useRef<HTMLDivElement>(null);
  const room = useRoomBelow(frame, true, `${run.state} ${run.reason}`);
  const isNarrow = useMediaQuery("(max-width: 50em)") ?? false;
  const shown = run.steps.filter((one) => one.name === selected);
  return (
    <>
      <PageHeader
        title={`${run.flow} #${run.number}`}
        above={
          <Breadcrumbs>
            <TextLink to="/flows" search={{ project: run.project }} size="sm">
              Flows
            </TextLink>
            <TextLink
              to="/projects/$project/flows/$flow"
              params={{ project: run.project, flow: run.flow }}
              size="sm"
            >
              {run.flow}
            </TextLink>
          </Breadcrumbs>
        }
        below={<About run={run} />}
        actions={<Actions run={run} />}
      />
      {run.reason && run.state !== "succeeded" && (
        <Alert color={run.state === "failed" ? "red" : "gray"} mb="md" title={run.reason} className="alone" />
      )}
      <TabBar
        label="Parts of the run"
        tabs={FLOW_RUN_TABS}
        names={NAMES}
        value={tab}
        onChange={(chosen) =>
          void navigate({ to: ROUTE, params: place, search: { tab: chosen, step: selected ?? undefined } })
        }
      >
        <Paper withBorder className="flow-editor" ref={frame} style={{ height: room }}>
          <div className="flow-body">
            <div className="flow-main">
              {tab === "graph" && <Graph run={run} selected={selected} onSelect={choose} />}
              {tab === "steps" && <StepRuns run={run} onSelect={choose} />}
              {tab === "timeline" && <Timeline run={run} onSelect={choose} />}
            </div>
            {shown.length > 0 && (
              <Side isNarrow={isNarrow} isRun onClose={() => choose(null)}>
                <StepPanel key={selected} run={run} steps={shown} onClose={() => choose(null)} />
              </Side>
            )}
          </div>
        </Paper>
      </TabBar>
    </>
  );
}

function Graph({
  run,
  selected,
  onSelect,
}: {
  run: FlowRun;
  selected: string | null;
  onSelect: (step: string | null) => void;
}) {
  const library = useQuery(libraryQuery(run.project)).data?.items ?? NONE;
  const graph = useMemo(() => readGraph(run.text), [run.text]);
  const footers = useMemo(
    () =>
      new Map([...byStep(run.steps)].map(([name, steps]) => [name, <StepFooter key={name} steps={steps} />])),
    [run.steps],
  );
  return (
    <ReactFlowProvider>
      <Canvas
        graph={graph}
        library={library}
        problems={NO_PROBLEMS}
        selected={selected}
        footers={footers}
        onSelect={onSelect}
      />
    </ReactFlowProvider>
  );
}

const NONE: never[] = [];
const NO_PROBLEMS: ReadonlyMap<string, string> = new Map();

function About({ run }: { run: FlowRun }) {
  const params = Object.entries(run.params);
  return (
    <>
      <Group gap="sm" my={6}>
        <Status state={run.state as never} />
        <Text size="sm" c="dimmed">
          <Duration start={run.started_at} end={run.ended_at} /> · {progressWords(run.steps)} ·{" "}
          <TextLink
            to="/projects/$project/flows/$flow"
            params={{ project: run.project, flow: run.flow }}
            search={{ version: run.version }}
            size="sm"
            underline="always"
          >
            version {run.version}
          </TextLink>{" "}
          · started <Time at={run.created_at} /> by {startedBy(run)}
        </Text>
      </Group>
      {params.length > 0 && (
        <Text size="sm" c="dimmed" style={{ overflowWrap: "anywhere" }}>
          {params.map(([name, value]) => `${name} = ${writeValue(value)}`).join(" · ")}
        </Text>
      )}
      {Object.entries(run.published ?? {}).map(([branch, commit]) => (
        <Published key={branch} project={run.project} branch={branch} commit={commit} />
      ))}
    </>
  );
}

function Published({ project, branch, commit }: { project: string; branch: string; commit: string }) {
  const dataset = branch.split("@")[0]?.split("/").at(-1) ?? branch;
  return (
    <Text size="sm">
      Published to {branch}: <CommitLink project={project} dataset={dataset} commit={commit} />
    </Text>
  );
}

function Actions({ run }: { run: FlowRun }) {
  const place = { project: run.project, flow_run: run.id };
  const cancel = useCancelFlowRun(place);
  const retry = useRetryFlowRun(place);
  if (!run.ended_at) {
    return (
      <Button
        variant="default"
        leftSection={<IconPlayerStop size={16} />}
        loading={cancel.isPending}
        disabled={Boolean(run.cancelled_by)}
        onClick={() => cancel.mutate(undefined, { onError: notifyError })}
      >
        {run.cancelled_by ? "Being cancelled" : "Cancel"}
      </Button>
    );
  }
  return (
    <Group gap="xs">
      <CompareWith run={run} />
      {run.state !== "succeeded" && (
        <Button
          leftSection={<IconRefresh size={16} />}
          loading={retry.isPending}
          onClick={() => retry.mutate(undefined, { onError: notifyError })}
        >
          Retry failed steps
        </Button>
      )}
    </Group>
  );
}

/** Other runs of the same flow, to lay beside this one. */
function CompareWith({ run }: { run: FlowRun }) {
  const navigate = useNavigate();
  const place = { project: run.project, flow: run.flow };
  const others = (useQuery(flowRunsQuery(place)).data?.items ?? []).filter((one) => one.id !== run.id);
  if (others.length === 0) return null;
  return (
    <Menu position="bottom-end">
      <Menu.Target>
        <Button variant="default" leftSection={<IconArrowsDiff size={16} />}>
          Compare
        </Button>
      </Menu.Target>
      <Menu.Dropdown mah={320} style={{ overflowY: "auto" }}>
        {others.slice(0, 30).map((other) => (
          <Menu.Item
            key={other.id}
            onClick={() =>
              void navigate({
                to: "/projects/$project/flows/$flow/compare",
                params: place,
                search: { a: other.id, b: run.id },
              })
            }
          >
            with #{other.number}, {other.state}, version {other.version}
          </Menu.Item>
        ))}
      </Menu.Dropdown>
    </Menu>
  );
}

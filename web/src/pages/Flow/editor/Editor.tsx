/** The flow editor: canvas, list or YAML of one text, a palette to add steps and a form for the chosen one. */
import { Alert, Box, Button, Drawer, Loader, Paper, Text } from "@mantine/core";
import { useDebouncedValue, useMediaQuery } from "@mantine/hooks";
import { IconArrowLeft } from "@tabler/icons-react";
import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { ReactFlowProvider } from "@xyflow/react";
import { lazy, Suspense, useEffect, useMemo, useRef, useState } from "react";
import { datasetsQuery } from "../../../api/datasets";
import { flowProblemsQuery, libraryQuery } from "../../../api/flows";
import { itemsOf } from "../../../api/paging";
import { queuesQuery } from "../../../api/queues";
import type { FlowProblem } from "../../../api/shapes";
import { templatesQuery } from "../../../api/templates";
import { useRoomBelow } from "../../../hooks/useRoomBelow";
import { type FlowGraph, readGraph } from "../../../lib/flow/graph";
import { deleteIn, setIn } from "../../../lib/flow/patch";
import { renameStep } from "../../../lib/flow/steps";
import { useFlowActions } from "./actions";
import { Canvas } from "./Canvas";
import type { FlowText } from "./history";
import { FlowInspector } from "./inspector/FlowInspector";
import { StepInspector } from "./inspector/StepInspector";
import { Palette } from "./Palette";
import { Problems, problemsByStep, stepOf } from "./Problems";
import type { StepOption } from "./paletteItems";
import { Side } from "./Side";
import { StepList } from "./StepList";
import { Toolbar, type View } from "./Toolbar";
import { useUndoKeys } from "./useUndoKeys";

const YamlPane = lazy(() => import("./YamlPane"));

interface Props {
  project: string;
  flow: FlowText;
  isEditable: boolean;
  /** The saved flow whose files lie beside the text. */
  saved?: string;
}

/** What the form beside the graph shows: a step by name, the flow's settings, or nothing. */
type Shown = { step: string; option?: StepOption } | "settings" | null;

export function Editor({ project, flow, isEditable, saved }: Props) {
  const { text, edit } = flow;
  const [view, setView] = useState<View>("graph");
  const [shown, setShown] = useState<Shown>(null);
  const [hasProblems, setHasProblems] = useState(true);
  const [isAdding, setIsAdding] = useState(false);
  const [line, setLine] = useState<{ line: number } | null>(null);
  const [arranged, setArranged] = useState(0);
  const [refused, setRefused] = useState<{ why: string } | null>(null);
  const isNarrow = useMediaQuery("(max-width: 50em)") ?? false;
  const frame = useRef<HTMLDivElement>(null);
  const room = useRoomBelow(frame, !isNarrow);
  const graph = useGraph(text);
  const known = useKnown(project);
  const { problems, isChecking, isKnown } = useProblems(project, text, saved);
  const byStep = useMemo(() => problemsByStep(problems), [problems]);
  const marked = useMemo(() => problems.map((one) => one.line), [problems]);
  const selected = shown !== null && shown !== "settings" ? shown.step : null;
  const option = shown !== null && shown !== "settings" ? shown.option : undefined;
  const step = graph.steps.find((one) => one.name === selected) ?? null;
  const select = (name: string | null) => setShown(name === null ? null : { step: name });
  const { add, arrange, copy, remove, canvas } = useFlowActions({
    flow,
    graph,
    library: known.library,
    selected,
    onSelect: select,
    onRefuse: (why) => setRefused({ why }),
    onOption: (option, step) => setShown({ step, option }),
  });
  useUndoKeys(flow);

  const showLine = (problem: FlowProblem) => {
    setView("yaml");
    setLine({ line: problem.line });
  };
  const choose = (problem: FlowProblem) => {
    const name = stepOf(problem);
    if (view === "yaml" || !name || !graph.steps.some((one) => one.name === name)) showLine(problem);
    else select(name);
  };
  const close = () => setShown(null);
  const set = (path: readonly string[], value: unknown) =>
    edit(path.join("."), (before) =>
      value === undefined ? deleteIn(before, path) : setIn(before, path, value),
    );
  const inspector =
    shown === "settings" ? (
      <FlowInspector
        project={project}
        graph={graph}
        library={known.library}
        datasets={known.datasets}
        isEditable={isEditable}
        set={set}
        change={edit}
        onClose={close}
      />
    ) : step ? (
      <StepInspector
        key={`${step.name} ${option}`}
        option={option}
        project={project}
        step={step}
        graph={graph}
        library={known.library}
        places={known.places}
        datasets={known.datasets}
        problem={byStep.get(step.name)}
        isEditable={isEditable}
        set={(path, value) => set(["steps", step.name, ...path], value)}
        change={edit}
        onRename={(name) => {
          edit("rename", (before) => renameStep(before, step.name, name));
          select(name);
        }}
        onCopy={() => copy(step)}
        onRemove={() => remove([step.name])}
        onClose={close}
      />
    ) : null;

  return (
    <Paper withBorder className="flow-editor" ref={frame} style={isNarrow ? undefined : { height: room }}>
      <Toolbar
        view={view}
        onView={setView}
        flow={flow}
        isEditable={isEditable}
        isEmpty={graph.steps.length === 0 && !graph.error}
        onArrange={() => {
          arrange();
          setArranged((before) => before + 1);
        }}
        onAdd={isNarrow && view !== "yaml" ? () => setIsAdding(true) : undefined}
        hasSettings={shown === "settings"}
        onSettings={() => setShown(shown === "settings" ? null : "settings")}
        problems={isKnown ? problems.length : null}
        isChecking={isChecking}
        hasProblemsOpen={hasProblems}
        onProblems={() => setHasProblems(!hasProblems)}
      />
      <div className="flow-body">
        {isEditable && !isNarrow && view !== "yaml" && (
          <Palette library={known.library} datasets={known.datasets} onAdd={(item) => add(item)} />
        )}
        <Box className="flow-main">
          {graph.error && view !== "yaml" && <NotYaml error={graph.error} onShow={() => setView("yaml")} />}
          {view === "graph" && (
            <>
              <ReactFlowProvider>
                <Canvas
                  graph={graph}
                  library={known.library}
                  problems={byStep}
                  selected={selected}
                  onSelect={select}
                  arranged={arranged}
                  editing={isEditable && !graph.error ? canvas : undefined}
                />
              </ReactFlowProvider>
              {graph.steps.length === 0 && !graph.error && <EmptyCanvas isNarrow={isNarrow} />}
              {refused && <Refusal key={refused.why} why={refused.why} onClose={() => setRefused(null)} />}
            </>
          )}
          {view === "list" && (
            <StepList
              graph={graph}
              problems={byStep}
              onSelect={select}
              onRemove={isEditable ? (name) => remove([name]) : undefined}
            />
          )}
          {view === "yaml" && (
            <Suspense fallback={<Loader m="md" size="sm" />}>
              <YamlPane
                text={text}
                isEditable={isEditable}
                marked={marked}
                shown={line}
                onChange={(given) => edit("yaml", () => given)}
              />
            </Suspense>
          )}
        </Box>
        {inspector && (view !== "yaml" || shown === "settings") && (
          <Side isNarrow={isNarrow} onClose={close}>
            {inspector}
          </Side>
        )}
      </div>
      {problems.length > 0 && hasProblems && (graph.steps.length > 0 || graph.error) && (
        <Problems problems={problems} onChoose={choose} onLine={showLine} />
      )}
      <Drawer
        opened={isAdding}
        onClose={() => setIsAdding(false)}
        title="Add a step"
        position="bottom"
        size="70%"
        closeButtonProps={{ "aria-label": "Close" }}
      >
        <Palette
          library={known.library}
          datasets={known.datasets}
          onAdd={(item) => {
            add(item);
            setIsAdding(false);
          }}
        />
      </Drawer>
    </Paper>
  );
}

/** The graph of the text. While the text is no YAML, the last one that was stays in sight. */
function useGraph(text: string): FlowGraph {
  const last = useRef<FlowGraph | null>(null);
  return useMemo(() => {
    const read = readGraph(text);
    if (read.error && last.current) return { ...last.current, error: read.error };
    last.current = read;
    return read;
  }, [text]);
}

/** What the project has that a flow can use. */
function useKnown(project: string) {
  const library = useQuery(libraryQuery(project)).data?.items ?? NONE;
  const found = useInfiniteQuery(datasetsQuery({ project })).data;
  const datasets = useMemo(() => itemsOf(found).map((one) => one.name), [found]);
  const templates = useQuery(templatesQuery).data?.items;
  const queues = useQuery(queuesQuery).data?.items;
  const places = useMemo(
    () => ({
      templates: (templates ?? []).map((one) => one.name),
      queues: (queues ?? []).map((one) => one.name),
    }),
    [templates, queues],
  );
  return { library, datasets, places };
}

function useProblems(project: string, text: string, saved?: string) {
  const [settled] = useDebouncedValue(text, 400);
  const checking = useQuery(flowProblemsQuery(project, settled, saved));
  return {
    problems: checking.data?.problems ?? NONE,
    isChecking: checking.isFetching || settled !== text,
    isKnown: checking.data !== undefined,
  };
}

const NONE: never[] = [];

function NotYaml({ error, onShow }: { error: string; onShow: () => void }) {
  return (
    <Box className="flow-notice">
      <Text size="sm">The text cannot be read as YAML: {error} The graph shows how it was before.</Text>
      <Button mt={6} size="compact-sm" variant="default" onClick={onShow}>
        Mend the text
      </Button>
    </Box>
  );
}

const REFUSAL_MS = 8_000;

/** Why a line was not drawn, where it was tried. */
function Refusal({ why, onClose }: { why: string; onClose: () => void }) {
  useEffect(() => {
    const timer = setTimeout(onClose, REFUSAL_MS);
    return () => clearTimeout(timer);
  });
  return (
    <Alert
      role="alert"
      className="flow-refusal"
      color="orange"
      variant="filled"
      p="xs"
      withCloseButton
      closeButtonLabel="Close"
      onClose={onClose}
    >
      <Text size="sm">{why}</Text>
    </Alert>
  );
}

function EmptyCanvas({ isNarrow }: { isNarrow: boolean }) {
  return (
    <div className="flow-empty">
      {!isNarrow && <IconArrowLeft size={20} aria-hidden />}
      <div>
        <Text fw={600}>{isNarrow ? "Add the first step" : "Drag a dataset here to begin"}</Text>
        <Text size="sm" c="dimmed" maw={340}>
          Then add a component or a command, and draw a line from an output to an input.
        </Text>
      </div>
    </div>
  );
}

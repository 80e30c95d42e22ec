/** The flow editor: canvas, list or YAML of one text, a palette to add steps and a form for the chosen one. */
import {
  ActionIcon,
  Box,
  Button,
  Divider,
  Group,
  Loader,
  Paper,
  SegmentedControl,
  Text,
  Tooltip,
} from "@mantine/core";
import { useDebouncedValue } from "@mantine/hooks";
import { IconArrowBackUp, IconArrowForwardUp, IconLayoutDistributeHorizontal } from "@tabler/icons-react";
import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { ReactFlowProvider } from "@xyflow/react";
import { lazy, Suspense, useEffect, useMemo, useState } from "react";
import { datasetsQuery } from "../../../api/datasets";
import { flowProblemsQuery, libraryQuery } from "../../../api/flows";
import { itemsOf } from "../../../api/paging";
import { queuesQuery } from "../../../api/queues";
import { templatesQuery } from "../../../api/templates";
import { notifyWarning } from "../../../components/notify";
import { isTyping } from "../../../hooks/useKeyboard";
import { type FlowEdge, readGraph } from "../../../lib/flow/graph";
import { deleteIn, deleteItem, setIn } from "../../../lib/flow/patch";
import {
  addStep,
  connect,
  disconnect,
  freeName,
  moveStep,
  removeStep,
  renameStep,
} from "../../../lib/flow/steps";
import { Canvas, type Editing } from "./Canvas";
import type { FlowText } from "./history";
import { Inspector } from "./Inspector";
import { layoutOf, nodeHeight } from "./layout";
import { portsOf } from "./library";
import { Palette } from "./Palette";
import { ProblemList, problemsByStep, stepOf } from "./ProblemList";
import { type PaletteItem, stepFor } from "./paletteItems";
import { StepList } from "./StepList";

const YamlPane = lazy(() => import("./YamlPane"));

type View = "graph" | "list" | "yaml";

interface Props {
  project: string;
  flow: FlowText;
  isEditable: boolean;
}

export function Editor({ project, flow, isEditable }: Props) {
  const { text, edit } = flow;
  const [view, setView] = useState<View>("graph");
  const [selected, setSelected] = useState<string | null>(null);
  const library = useQuery(libraryQuery(project)).data?.items ?? NONE;
  const datasets = itemsOf(useInfiniteQuery(datasetsQuery({ project })).data).map((one) => one.name);
  const templates = (useQuery(templatesQuery).data?.items ?? []).map((one) => one.name);
  const queues = (useQuery(queuesQuery).data?.items ?? []).map((one) => one.name);
  const [settled] = useDebouncedValue(text, 400);
  const checking = useQuery(flowProblemsQuery(project, settled));
  const problems = checking.data?.problems ?? NO_PROBLEMS;
  const graph = useMemo(() => readGraph(text), [text]);
  const byStep = useMemo(() => problemsByStep(problems), [problems]);
  const step = graph.steps.find((one) => one.name === selected) ?? null;
  useUndoKeys(flow);

  const add = (item: PaletteItem, at?: [number, number]) => {
    const made = stepFor(item);
    const name = freeName(
      made.name,
      graph.steps.map((one) => one.name),
    );
    edit("add", (before) => addStep(before, name, made.step, at));
    setSelected(name);
  };
  const arrange = () => {
    const tall = (name: string) => {
      const found = graph.steps.find((one) => one.name === name);
      const ports = found ? portsOf(found, library) : null;
      return nodeHeight(Math.max(ports?.inputs.length ?? 0, ports?.outputs.length ?? 0));
    };
    edit("arrange", (before) =>
      [...layoutOf(graph, tall)].reduce((done, [name, at]) => moveStep(done, name, at), before),
    );
  };

  const editing: Editing = {
    onMove: (moved) =>
      edit("move", (before) => moved.reduce((done, one) => moveStep(done, one.step, one.at), before)),
    onConnect: ({ from, output, to, input }, all) =>
      edit("connect", (before) =>
        connect(before, { step: from, output: output || undefined, all }, { step: to, input }),
      ),
    onOrder: (from, to) => {
      const after = graph.edges.filter((one) => one.to === to && one.kind === "order").map((one) => one.from);
      edit("order", (before) => setIn(before, ["steps", to, "after"], [...new Set([...after, from])]));
    },
    onDisconnect: (edges) => edit("disconnect", (before) => edges.reduce(withoutEdge, before)),
    onRemove: (names) => {
      edit("remove", (before) => names.reduce(removeStep, before));
      setSelected(null);
    },
    onDrop: add,
    onRefuse: notifyWarning,
  };

  return (
    <>
      <Group justify="space-between" mb="xs">
        <Group gap="xs">
          <SegmentedControl
            size="xs"
            aria-label="View"
            value={view}
            onChange={(chosen) => setView(chosen as View)}
            data={[
              { value: "graph", label: "Graph" },
              { value: "list", label: "List" },
              { value: "yaml", label: "YAML" },
            ]}
          />
          {isEditable && (
            <>
              <Tool
                label="Undo (Ctrl+Z)"
                disabled={!flow.canUndo}
                onClick={flow.undo}
                icon={IconArrowBackUp}
              />
              <Tool
                label="Redo (Ctrl+Shift+Z)"
                disabled={!flow.canRedo}
                onClick={flow.redo}
                icon={IconArrowForwardUp}
              />
              <Tool
                label="Arrange the steps"
                disabled={graph.steps.length === 0}
                onClick={arrange}
                icon={IconLayoutDistributeHorizontal}
              />
            </>
          )}
        </Group>
        <Text size="xs" c="dimmed" aria-live="polite">
          {checking.isFetching ? "Checking …" : problems.length === 0 && checking.data ? "No problems" : ""}
        </Text>
      </Group>
      <ProblemList
        problems={problems}
        onChoose={(problem) => {
          const name = stepOf(problem);
          if (name && graph.steps.some((one) => one.name === name)) setSelected(name);
          else setView("yaml");
        }}
      />
      <Paper withBorder mt="xs" className="flow-editor">
        {isEditable && view !== "yaml" && (
          <Palette library={library} datasets={datasets} onAdd={(item) => add(item)} />
        )}
        <Box className="flow-main">
          {graph.error && view !== "yaml" ? (
            <Box p="md">
              <Text size="sm">The text is not YAML: {graph.error}</Text>
              <Button mt="sm" size="xs" variant="default" onClick={() => setView("yaml")}>
                Show the text
              </Button>
            </Box>
          ) : view === "graph" ? (
            <ReactFlowProvider>
              <Canvas
                graph={graph}
                library={library}
                problems={byStep}
                selected={selected}
                onSelect={setSelected}
                editing={isEditable ? editing : undefined}
              />
            </ReactFlowProvider>
          ) : view === "list" ? (
            <StepList graph={graph} problems={byStep} onSelect={setSelected} />
          ) : (
            <Suspense fallback={<Loader m="md" size="sm" />}>
              <YamlPane text={text} isEditable={isEditable} onChange={(given) => edit("yaml", () => given)} />
            </Suspense>
          )}
        </Box>
        {step && view !== "yaml" && (
          <>
            <Divider orientation="vertical" />
            <Inspector
              step={step}
              graph={graph}
              library={library}
              places={{ templates, queues }}
              isEditable={isEditable}
              onSet={(path, value) =>
                edit(path.join("."), (before) =>
                  value === undefined
                    ? deleteIn(before, ["steps", step.name, ...path])
                    : setIn(before, ["steps", step.name, ...path], value),
                )
              }
              onRename={(name) => {
                edit("rename", (before) => renameStep(before, step.name, name));
                setSelected(name);
              }}
              onRemove={() => {
                edit("remove", (before) => removeStep(before, step.name));
                setSelected(null);
              }}
            />
          </>
        )}
      </Paper>
    </>
  );
}

const NONE: never[] = [];
const NO_PROBLEMS: never[] = [];

function Tool(props: {
  label: string;
  disabled: boolean;
  onClick: () => void;
  icon: typeof IconArrowBackUp;
}) {
  return (
    <Tooltip label={props.label}>
      <ActionIcon
        variant="default"
        aria-label={props.label}
        disabled={props.disabled}
        onClick={props.onClick}
      >
        <props.icon size={16} />
      </ActionIcon>
    </Tooltip>
  );
}

function withoutEdge(text: string, edge: FlowEdge): string {
  if (edge.kind === "data" && edge.input) return disconnect(text, { step: edge.to, input: edge.input });
  if (edge.kind !== "order") return text;
  const after = readGraph(text).steps.find((step) => step.name === edge.to)?.value.after;
  const index = Array.isArray(after) ? after.indexOf(edge.from) : -1;
  return index < 0 ? text : deleteItem(text, ["steps", edge.to, "after"], index);
}

/** Ctrl+Z and Ctrl+Shift+Z outside of fields, which undo what is typed themselves. */
function useUndoKeys({ undo, redo }: FlowText): void {
  useEffect(() => {
    const listen = (event: KeyboardEvent) => {
      if (!(event.ctrlKey || event.metaKey) || event.key.toLowerCase() !== "z" || isTyping(event.target))
        return;
      event.preventDefault();
      if (event.shiftKey) redo();
      else undo();
    };
    window.addEventListener("keydown", listen);
    return () => window.removeEventListener("keydown", listen);
  }, [undo, redo]);
}

import { Group, Paper, SegmentedControl, Select, Stack, Text } from "@mantine/core";
import { keepPreviousData, useQueries, useQuery } from "@tanstack/react-query";
import { lazy, type ReactNode, Suspense, useCallback, useMemo, useState } from "react";
import { type LineageAsked, type LineageRoot, lineageGraphQuery } from "../../api/lineage";
import type { LineageGraph, LineageNode } from "../../api/shapes";
import { readChoice, writeChoice } from "../../lib/storage";
import { CommandLine } from "../Copyable";
import { Loaded } from "../Loaded";
import { WaitingRows } from "../Waiting";
import "./lineage.css";
import { LineageList } from "./LineageList";
import { type Answer, type Expansion, expand, merge, type Side } from "./merge";

const LineageCanvas = lazy(() => import("./LineageCanvas"));

/** A list takes more than a drawing. A step leads from a commit to a run, or from a run to a commit. */
const FIRST = {
  graph: { limit: 150, width: 8 },
  list: { limit: 1000, width: 200 },
};
const DEPTHS = [2, 4, 8, 20].map((steps) => ({ value: String(steps), label: `${steps} steps` }));
const VIEWS = [
  { value: "graph", label: "Graph" },
  { value: "list", label: "List" },
];

interface Props {
  project: string;
  root: LineageRoot;
  /** Prints the same. */
  command: string;
  /** Beside the choice of the view. */
  tools?: ReactNode;
}

/** From data to models and back: what something was made from, and what was made of it. */
export function LineageView({ project, root, command, tools }: Props) {
  const [view, setView] = useState(firstView);
  const [depth, setDepth] = useState("4");
  const choose = (chosen: string) => {
    writeChoice("lineage.view", chosen);
    setView(chosen === "list" ? "list" : "graph");
  };
  const asked = { direction: "both" as const, depth: Number(depth), ...FIRST[view] };
  const result = useQuery(lineageGraphQuery(project, root, asked));
  return (
    <Stack>
      <Group justify="space-between">
        <Group gap="xs">
          {tools}
          <SegmentedControl data={VIEWS} value={view} onChange={choose} aria-label="View" />
          <Select
            aria-label="Depth"
            data={DEPTHS}
            value={depth}
            onChange={(value) => setDepth(value ?? "4")}
            allowDeselect={false}
            w={110}
          />
        </Group>
        <CommandLine command={command} />
      </Group>
      <Loaded result={result}>
        {(graph) => <Shown key={JSON.stringify([graph.root, asked])} {...{ project, graph, asked, view }} />}
      </Loaded>
    </Stack>
  );
}

/** As last chosen; on a narrow screen a list is easier to read. */
function firstView(): "graph" | "list" {
  const usual = window.innerWidth < 700 ? "list" : "graph";
  return (readChoice("lineage.view") ?? usual) === "list" ? "list" : "graph";
}

interface ShownProps {
  project: string;
  graph: LineageGraph;
  asked: LineageAsked;
  view: "graph" | "list";
}

function Shown({ project, graph: first, asked, view }: ShownProps) {
  const [expansions, setExpansions] = useState<readonly Expansion[]>([]);
  const onMore = useCallback(
    (node: LineageNode, side: Side) => setExpansions((before) => expand(before, node, side)),
    [],
  );
  const graph = useExpanded(project, first, expansions);
  if (graph.nodes.length === 1 && graph.edges.length === 0) {
    return <Text>Nothing is known about how it was made, and nothing was made from it.</Text>;
  }
  return (
    <>
      <Paper withBorder>
        {view === "graph" ? (
          <div className="lineage-graph">
            <Suspense fallback={<WaitingRows />}>
              <LineageCanvas graph={graph} onMore={onMore} />
            </Suspense>
          </div>
        ) : (
          <LineageList graph={graph} onMore={onMore} />
        )}
      </Paper>
      {first.is_cut && (
        <Text size="sm" c="dimmed">
          There is more than these {asked.limit.toLocaleString("en")}; the newest are shown.
        </Text>
      )}
    </>
  );
}

/** The first answer with what has come of the questions about single nodes. */
function useExpanded(project: string, first: LineageGraph, expansions: readonly Expansion[]) {
  const results = useQueries({
    queries: expansions.map(({ root, side, width }) => ({
      ...lineageGraphQuery(project, root, { direction: side, depth: 1, limit: 1000, width }),
      // What was brought stays in sight while more of it is asked for.
      placeholderData: keepPreviousData,
    })),
  });
  const answers: Answer[] = results.flatMap(({ data }, place) =>
    data ? [{ graph: data, expansion: expansions[place] ?? null }] : [],
  );
  const have = answers.map(({ expansion }) => JSON.stringify(expansion)).join();
  // biome-ignore lint/correctness/useExhaustiveDependencies: which answers there are says all
  return useMemo(() => merge([{ graph: first, expansion: null }, ...answers]), [first, have]);
}

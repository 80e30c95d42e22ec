import { Button, Table, Text } from "@mantine/core";
import type { LineageLink, LineageNode } from "../../api/shapes";
import { Time } from "../Time";
import { NodeLink } from "./LineageNodeCard";
import { lookOf } from "./look";
import type { Merged, Side } from "./merge";

/** What a node is to the one nearer to the root. */
const WORDS: Record<Side, Record<LineageLink["role"], string>> = {
  up: { input: "input of", code: "code of", made: "made", parent: "parent of", origin: "origin of" },
  down: { input: "reads", code: "runs", made: "made by", parent: "made from", origin: "imported from" },
};

interface Props {
  graph: Merged;
  onMore: (node: LineageNode, side: Side) => void;
}

/** The same as a table, nearest first: for the keyboard, and for what is too much to draw. */
export function LineageList({ graph, onMore }: Props) {
  const sides = [
    { title: "Made from", side: "up" as const, nodes: graph.nodes.filter((node) => node.level < 0) },
    { title: "Used by", side: "down" as const, nodes: graph.nodes.filter((node) => node.level > 0) },
  ];
  const root = graph.nodes.find((node) => node.key === graph.root);
  return (
    <>
      {sides.map(({ title, side, nodes }) => (
        <section key={side} aria-label={title}>
          <Text fw={600} p="sm" pb={4}>
            {title}
          </Text>
          {nodes.length === 0 ? (
            <Text size="sm" c="dimmed" px="sm" pb="sm">
              {side === "up" ? "Nothing is known of what it was made from." : "Nothing was made from it yet."}
            </Text>
          ) : (
            <Rows title={title} side={side} nodes={nodes} graph={graph} onMore={onMore} />
          )}
          {root && hasMore(root, side) && <MoreButton node={root} side={side} onMore={onMore} />}
        </section>
      ))}
    </>
  );
}

interface RowsProps extends Props {
  title: string;
  side: Side;
  nodes: readonly LineageNode[];
}

function Rows({ title, side, nodes, graph, onMore }: RowsProps) {
  const sorted = [...nodes].sort((a, b) => Math.abs(a.level) - Math.abs(b.level));
  const byKey = new Map(graph.nodes.map((node) => [node.key, node]));
  /** Towards the root: what it was read by, or made from. */
  const nearer = (node: LineageNode) =>
    graph.edges.flatMap(({ source, target, role }) => {
      const [far, near] = side === "up" ? [source, target] : [target, source];
      const other = far === node.key ? byKey.get(near) : undefined;
      return other ? [`${WORDS[side][role]} ${lookOf(other).title}`] : [];
    });
  return (
    <Table.ScrollContainer
      minWidth={820}
      mah={420}
      scrollAreaProps={{ viewportProps: { tabIndex: 0, "aria-label": title } }}
    >
      <Table aria-label={title} verticalSpacing={6} stickyHeader>
        <Table.Thead>
          <Table.Tr>
            <Table.Th w={60}>Step</Table.Th>
            <Table.Th w={120}>What</Table.Th>
            <Table.Th>Name</Table.Th>
            <Table.Th>How</Table.Th>
            <Table.Th>When</Table.Th>
            <Table.Th w={90}>More</Table.Th>
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {sorted.map((node) => (
            <Table.Tr key={node.key}>
              <Table.Td>{Math.abs(node.level)}</Table.Td>
              <Table.Td>{lookOf(node).noun}</Table.Td>
              <Table.Td maw={320}>
                <NodeLink node={node} />
                <Text size="xs" c="dimmed" truncate>
                  {lookOf(node).detail}
                </Text>
              </Table.Td>
              <Table.Td miw={200} style={{ overflowWrap: "anywhere" }}>
                {nearer(node).join(", ")}
              </Table.Td>
              <Table.Td>
                <Time at={node.at} />
              </Table.Td>
              <Table.Td>
                {hasMore(node, side) && <MoreButton node={node} side={side} onMore={onMore} />}
              </Table.Td>
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </Table.ScrollContainer>
  );
}

function hasMore(node: LineageNode, side: Side): boolean {
  return side === "up" ? node.more_up : node.more_down;
}

function MoreButton({ node, side, onMore }: { node: LineageNode; side: Side; onMore: Props["onMore"] }) {
  return (
    <Button
      variant="subtle"
      size="compact-sm"
      aria-label={`Show more ${side === "up" ? "that it was made from" : "that was made from it"}: ${lookOf(node).title}`}
      onClick={() => onMore(node, side)}
    >
      More
    </Button>
  );
}

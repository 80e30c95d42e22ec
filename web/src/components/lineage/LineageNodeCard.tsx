import { ActionIcon, Group, Text, ThemeIcon, Tooltip } from "@mantine/core";
import { IconChevronLeft, IconChevronRight } from "@tabler/icons-react";
import { Handle, type Node, type NodeProps, Position } from "@xyflow/react";
import { memo } from "react";
import type { LineageNode } from "../../api/shapes";
import { TextLink } from "../TextLink";
import { addressOf, lookOf } from "./look";
import type { Side } from "./merge";

export interface CardData extends Record<string, unknown> {
  node: LineageNode;
  isRoot: boolean;
  onMore: (node: LineageNode, side: Side) => void;
}

export type CardNode = Node<CardData, "lineage">;

/** One commit or run: its name leads to its page, arrows at its sides bring neighbours that are not shown. */
export const LineageNodeCard = memo(function LineageNodeCard({ data }: NodeProps<CardNode>) {
  const { node, isRoot, onMore } = data;
  const look = lookOf(node);
  return (
    <div className="lineage-node" data-root={isRoot || undefined} data-gone={node.is_gone || undefined}>
      <Handle type="target" position={Position.Left} className="lineage-handle" isConnectable={false} />
      <Handle type="source" position={Position.Right} className="lineage-handle" isConnectable={false} />
      {node.more_up && <More side="up" title={look.title} onClick={() => onMore(node, "up")} />}
      <Group gap={8} wrap="nowrap" px={10} py={8} style={{ flex: 1, minWidth: 0 }}>
        <ThemeIcon size={28} variant="light" color={look.color} aria-hidden>
          <look.icon size={17} />
        </ThemeIcon>
        <div className="lineage-names">
          <NodeLink node={node} />
          <Text size="xs" c="dimmed" truncate title={look.detail}>
            {look.detail.startsWith(look.noun)
              ? look.detail
              : [look.noun, look.detail].filter(Boolean).join(" · ")}
          </Text>
        </div>
      </Group>
      {node.more_down && <More side="down" title={look.title} onClick={() => onMore(node, "down")} />}
    </div>
  );
});

/** Its name; a link unless it is gone. */
export function NodeLink({ node }: { node: LineageNode }) {
  const { title } = lookOf(node);
  const address = addressOf(node);
  if (!address) {
    return (
      <Text size="sm" truncate title={title}>
        {title}
      </Text>
    );
  }
  return (
    <TextLink {...address} size="sm" fw={600} truncate title={title} display="block" className="nodrag">
      {title}
    </TextLink>
  );
}

function More({ side, title, onClick }: { side: Side; title: string; onClick: () => void }) {
  const label =
    side === "up" ? `Show more that ${title} was made from` : `Show more that was made from ${title}`;
  const Arrow = side === "up" ? IconChevronLeft : IconChevronRight;
  return (
    <Tooltip label={label} multiline maw={280}>
      <ActionIcon
        variant="light"
        color="gray"
        w={24}
        miw={24}
        h="auto"
        radius={0}
        aria-label={label}
        onClick={onClick}
      >
        <Arrow size={16} aria-hidden />
      </ActionIcon>
    </Tooltip>
  );
}

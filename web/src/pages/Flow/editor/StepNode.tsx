/** One step on the canvas: what it is, what is missing, its ports by name. */
import { Group, Text, ThemeIcon, Tooltip } from "@mantine/core";
import { IconAlertTriangle, IconCode, IconDatabase, IconPackage, IconUserCheck } from "@tabler/icons-react";
import { Handle, type Node, type NodeProps, Position } from "@xyflow/react";
import { memo, type ReactNode } from "react";
import type { ComponentPort as Port } from "../../../api/shapes";
import type { StepKind } from "../../../lib/flow/graph";
import { IN, NEW_INPUT, OUT } from "./connecting";
import type { Ports } from "./library";

export interface StepData extends Record<string, unknown> {
  name: string;
  kind: StepKind;
  /** `resnet50@1`, `xray@main`, `python pick.py`. */
  what: string;
  ports: Ports;
  /** Words on small labels: where it runs, over what, under which condition. */
  marks: readonly string[];
  problem?: string;
  /** Shown below the name instead of the marks: the state of a step in a run. */
  footer?: ReactNode;
  isEditable: boolean;
}

export type StepNodeType = Node<StepData, "step">;

const ICONS = { dataset: IconDatabase, component: IconPackage, command: IconCode, approval: IconUserCheck };
const COLORS = { dataset: "indigo", component: "cyan", command: "gray", approval: "orange" };

export const StepNode = memo(function StepNode({ data, selected }: NodeProps<StepNodeType>) {
  const Picture = ICONS[data.kind];
  const { inputs, outputs, isOpen } = data.ports;
  return (
    <div
      className="flow-step"
      data-selected={selected || undefined}
      data-problem={data.problem ? true : undefined}
    >
      <Group gap={8} wrap="nowrap" px={10} pt={8}>
        <ThemeIcon size={26} variant="light" color={COLORS[data.kind]} aria-hidden>
          <Picture size={16} />
        </ThemeIcon>
        <div className="flow-step-names">
          <Text size="sm" fw={600} truncate title={data.name}>
            {data.name}
          </Text>
          <Text size="xs" c="dimmed" truncate title={data.what}>
            {data.what}
          </Text>
        </div>
        {data.problem && (
          <Tooltip label={data.problem} multiline maw={320}>
            <IconAlertTriangle size={16} color="var(--mantine-color-orange-6)" aria-label={data.problem} />
          </Tooltip>
        )}
      </Group>
      <div className="flow-ports">
        <div>
          {inputs.map((port) => (
            <PortRow key={port.name} port={port} side="in" />
          ))}
          {isOpen && data.isEditable && <PortRow port={null} side="in" />}
        </div>
        <div>
          {outputs.map((port) => (
            <PortRow key={port.name} port={port} side="out" />
          ))}
        </div>
      </div>
      {data.footer ??
        (data.marks.length > 0 && (
          <Text size="xs" c="dimmed" px={10} pb={8} truncate title={data.marks.join(" · ")}>
            {data.marks.join(" · ")}
          </Text>
        ))}
      <Handle
        type="target"
        position={Position.Top}
        id="order-in"
        className="flow-order"
        isConnectable={data.isEditable}
      />
      <Handle
        type="source"
        position={Position.Bottom}
        id="order-out"
        className="flow-order"
        isConnectable={data.isEditable}
      />
    </div>
  );
});

function PortRow({ port, side }: { port: Port | null; side: "in" | "out" }) {
  const id = port === null ? NEW_INPUT : (side === "in" ? IN : OUT) + port.name;
  const words = port === null ? "new input" : port.name || "data";
  return (
    <div
      className="flow-port"
      data-side={side}
      title={port ? [port.type, port.help].filter(Boolean).join(": ") : undefined}
    >
      <Handle
        type={side === "in" ? "target" : "source"}
        position={side === "in" ? Position.Left : Position.Right}
        id={id}
        className={port?.required ? "flow-handle flow-handle-required" : "flow-handle"}
      />
      <span data-new={port === null || undefined}>{words}</span>
    </div>
  );
}

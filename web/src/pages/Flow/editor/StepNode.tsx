/** One step on the canvas: what it is, what is missing, its ports by name. */
import { Group, Text, ThemeIcon, Tooltip } from "@mantine/core";
import { IconAlertTriangle, IconCode, IconDatabase, IconPackage, IconUserCheck } from "@tabler/icons-react";
import { Handle, type Node, type NodeProps, Position, useConnection } from "@xyflow/react";
import { createContext, memo, type ReactNode, useContext } from "react";
import type { ComponentPort as Port } from "../../../api/shapes";
import type { StepKind } from "../../../lib/flow/graph";
import { isValueType } from "../../../lib/flow/types";
import { AFTER, BEFORE, IN, NEW_INPUT, OUT } from "./connecting";
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
  /** Everything above but the footer as one text: the same looks are not drawn again. */
  looks: string;
}

export type StepNodeType = Node<StepData, "step">;

/** Whether an output that is being dragged may go to an input. */
export type Fits = (from: string, handle: string, to: string, input: string) => boolean;
export const FitsContext = createContext<Fits>(() => true);

const ICONS = { dataset: IconDatabase, component: IconPackage, command: IconCode, approval: IconUserCheck };
const COLORS = { dataset: "indigo", component: "cyan", command: "gray", approval: "orange" };

export const StepNode = memo(function StepNode({ data, selected }: NodeProps<StepNodeType>) {
  const Picture = ICONS[data.kind];
  const { inputs, outputs, isOpen } = data.ports;
  return (
    <div
      className="flow-step"
      data-kind={data.kind}
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
            <IconAlertTriangle
              size={16}
              color="var(--mantine-color-orange-6)"
              role="img"
              aria-label={data.problem}
            />
          </Tooltip>
        )}
      </Group>
      <div className="flow-ports">
        <div>
          {inputs.map((port) => (
            <PortRow key={port.name} step={data.name} port={port} side="in" />
          ))}
          {isOpen && data.isEditable && <PortRow step={data.name} port={null} side="in" />}
        </div>
        <div>
          {outputs.map((port) => (
            <PortRow key={port.name} step={data.name} port={port} side="out" />
          ))}
        </div>
      </div>
      {data.footer ??
        (data.marks.length > 0 && (
          <div className="flow-marks">
            {data.marks.map((mark) => (
              <span key={mark} title={mark}>
                {mark}
              </span>
            ))}
          </div>
        ))}
      {data.kind !== "dataset" && (
        <Handle
          type="target"
          position={Position.Left}
          id={BEFORE}
          className="flow-order"
          isConnectable={data.isEditable}
          title="Order: drop here to run after another step"
        />
      )}
      <Handle
        type="source"
        position={Position.Right}
        id={AFTER}
        className="flow-order"
        isConnectable={data.isEditable && data.kind !== "dataset"}
        title="Order: drag to a step that runs after this one"
      />
    </div>
  );
});

function PortRow({ step, port, side }: { step: string; port: Port | null; side: "in" | "out" }) {
  const id = port === null ? NEW_INPUT : (side === "in" ? IN : OUT) + port.name;
  const words = port === null ? "new input" : port.name || "data";
  return (
    <div
      className="flow-port"
      data-side={side}
      data-value={port !== null && isValueType(port.type) ? true : undefined}
      title={port ? [port.type, port.help].filter(Boolean).join(": ") : "Connect files under a new name"}
    >
      <PortHandle step={step} id={id} side={side} isRequired={side === "in" && port?.required === true} />
      <span data-new={port === null || undefined}>{words}</span>
    </div>
  );
}

interface HandleProps {
  step: string;
  id: string;
  side: "in" | "out";
  isRequired: boolean;
}

function PortHandle({ step, id, side, isRequired }: HandleProps) {
  const fits = useContext(FitsContext);
  // One text, so that nothing is drawn again while the line follows the pointer.
  const dragged = useConnection((now) =>
    now.inProgress && now.fromHandle.type === "source"
      ? `${now.fromHandle.nodeId} ${now.fromHandle.id}`
      : null,
  );
  const [from, handle] = dragged?.split(" ") ?? [];
  const fit =
    side === "in" && from !== undefined && handle?.startsWith(OUT) ? fits(from, handle, step, id) : undefined;
  return (
    <Handle
      type={side === "in" ? "target" : "source"}
      position={side === "in" ? Position.Left : Position.Right}
      id={id}
      data-fits={fit}
      className={isRequired ? "flow-handle flow-handle-required" : "flow-handle"}
    />
  );
}

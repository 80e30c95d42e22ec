import { ActionIcon, Button, Group, SegmentedControl, Tooltip } from "@mantine/core";
import {
  IconAdjustments,
  IconAlertTriangle,
  IconArrowBackUp,
  IconArrowForwardUp,
  IconCheck,
  IconPlus,
  IconSitemap,
} from "@tabler/icons-react";
import { plural } from "../../../lib/quantity";
import type { FlowText } from "./history";

export type View = "graph" | "list" | "yaml";

const VIEWS = [
  { value: "graph", label: "Graph" },
  { value: "list", label: "List" },
  { value: "yaml", label: "YAML" },
];

interface Props {
  view: View;
  onView: (view: View) => void;
  flow: FlowText;
  isEditable: boolean;
  isEmpty: boolean;
  onArrange: () => void;
  /** None where the palette is in sight. */
  onAdd?: () => void;
  hasSettings: boolean;
  onSettings: () => void;
  /** None while they are not known. */
  problems: number | null;
  isChecking: boolean;
  hasProblemsOpen: boolean;
  onProblems: () => void;
}

export function Toolbar(props: Props) {
  const { flow, isEditable, isEmpty } = props;
  return (
    <Group gap="xs" className="flow-toolbar" role="toolbar" aria-label="Tools of the editor">
      <SegmentedControl
        size="xs"
        aria-label="View"
        value={props.view}
        onChange={(chosen) => props.onView(chosen as View)}
        data={VIEWS}
      />
      {isEditable && (
        <>
          {props.onAdd && (
            <Button size="compact-sm" leftSection={<IconPlus size={14} />} onClick={props.onAdd}>
              Add step
            </Button>
          )}
          <Tool label="Undo (Ctrl+Z)" disabled={!flow.canUndo} onClick={flow.undo} icon={IconArrowBackUp} />
          <Tool
            label="Redo (Ctrl+Shift+Z)"
            disabled={!flow.canRedo}
            onClick={flow.redo}
            icon={IconArrowForwardUp}
          />
          <Tool label="Arrange the steps" disabled={isEmpty} onClick={props.onArrange} icon={IconSitemap} />
        </>
      )}
      <Button
        size="compact-sm"
        variant={props.hasSettings ? "light" : "subtle"}
        color="gray"
        leftSection={<IconAdjustments size={14} />}
        aria-pressed={props.hasSettings}
        onClick={props.onSettings}
      >
        Settings
      </Button>
      <ProblemsButton {...props} />
    </Group>
  );
}

function ProblemsButton({ problems, isChecking, isEmpty, hasProblemsOpen, onProblems }: Props) {
  if (isEmpty) return null;
  if (problems === null || problems === 0) {
    return (
      <Group gap={4} ml="auto" fz="xs" c="dimmed" aria-live="polite" wrap="nowrap">
        {isChecking || problems === null ? (
          "Checking …"
        ) : (
          <>
            <IconCheck size={14} aria-hidden /> No problems
          </>
        )}
      </Group>
    );
  }
  return (
    <Button
      ml="auto"
      size="compact-sm"
      variant="light"
      color="orange"
      leftSection={<IconAlertTriangle size={14} />}
      aria-expanded={hasProblemsOpen}
      onClick={onProblems}
    >
      {plural(problems, "problem")}
    </Button>
  );
}

interface ToolProps {
  label: string;
  disabled: boolean;
  onClick: () => void;
  icon: typeof IconPlus;
}

function Tool({ label, disabled, onClick, icon: Picture }: ToolProps) {
  return (
    <Tooltip label={label}>
      <ActionIcon variant="default" aria-label={label} disabled={disabled} onClick={onClick}>
        <Picture size={16} />
      </ActionIcon>
    </Tooltip>
  );
}

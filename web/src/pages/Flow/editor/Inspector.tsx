/** The chosen step as a form. Every field writes one place of the text. */
import {
  ActionIcon,
  Button,
  Divider,
  Group,
  Select,
  Stack,
  TagsInput,
  Text,
  TextInput,
  Title,
  Tooltip,
} from "@mantine/core";
import { IconTrash } from "@tabler/icons-react";
import { useEffect, useState } from "react";
import type { LibraryComponent } from "../../../api/shapes";
import type { FlowGraph, FlowStep } from "../../../lib/flow/graph";
import { shellLine } from "../../../lib/names";
import { commandWords } from "../../../lib/shell";
import { inputChoices } from "./choices";
import { componentOf, object, portsOf } from "./library";
import { ParamField } from "./ParamField";

export interface Places {
  templates: readonly string[];
  queues: readonly string[];
}

interface Props {
  step: FlowStep;
  graph: FlowGraph;
  library: readonly LibraryComponent[];
  places: Places;
  isEditable: boolean;
  /** Path below the step, and its new value; undefined removes it. */
  onSet: (path: readonly string[], value: unknown) => void;
  onRename: (name: string) => void;
  onRemove: () => void;
}

const STEP_NAME = /^[a-z0-9][a-z0-9_-]{0,62}$/;

export function Inspector(props: Props) {
  const { step, library, isEditable } = props;
  const component = componentOf(step, library);
  return (
    <Stack gap="sm" className="flow-inspector">
      <Group justify="space-between" wrap="nowrap">
        <Title order={2} size="h5" style={{ overflowWrap: "anywhere" }}>
          {component?.title || step.name}
        </Title>
        {isEditable && (
          <Tooltip label="Remove this step">
            <ActionIcon variant="subtle" color="red" aria-label="Remove this step" onClick={props.onRemove}>
              <IconTrash size={16} />
            </ActionIcon>
          </Tooltip>
        )}
      </Group>
      {component?.description && (
        <Text size="xs" c="dimmed">
          {component.description}
        </Text>
      )}
      <StepName {...props} />
      <Basics {...props} />
      <Inputs {...props} />
      <Params {...props} component={component} />
      {step.kind !== "dataset" && <Running {...props} />}
    </Stack>
  );
}

function StepName({ step, graph, isEditable, onRename }: Props) {
  const [name, setName] = useState(step.name);
  useEffect(() => setName(step.name), [step.name]);
  const isTaken = name !== step.name && graph.steps.some((one) => one.name === name);
  const wrong = isTaken
    ? "Another step has this name."
    : STEP_NAME.test(name)
      ? null
      : "Use lower-case letters, digits, - and _.";
  return (
    <TextInput
      size="xs"
      label="Name"
      value={name}
      error={wrong}
      disabled={!isEditable}
      onChange={(event) => setName(event.currentTarget.value)}
      onBlur={() => (wrong ? setName(step.name) : name !== step.name && onRename(name))}
      onKeyDown={(event) => event.key === "Enter" && event.currentTarget.blur()}
    />
  );
}

function Basics({ step, isEditable, onSet }: Props) {
  const field = (
    label: string,
    path: string[],
    value: unknown,
    read: (text: string) => unknown = (text) => text || undefined,
  ) => (
    <TextInput
      size="xs"
      label={label}
      disabled={!isEditable}
      value={value == null ? "" : String(value)}
      onChange={(event) => onSet(path, read(event.currentTarget.value))}
    />
  );
  if (step.kind === "dataset") {
    return (
      <>
        {field("Dataset", ["dataset"], step.value.dataset)}
        <Select
          size="xs"
          label="Cached"
          disabled={!isEditable}
          data={[
            { value: "near", label: "near: where the step runs" },
            { value: "yes", label: "yes: before the step starts" },
            { value: "no", label: "no: read from the lake" },
          ]}
          value={String(step.value.cached ?? "near")}
          onChange={(chosen) => onSet(["cached"], chosen ?? undefined)}
        />
      </>
    );
  }
  if (step.kind === "component") return field("Component", ["component"], step.value.component);
  if (step.kind === "approval") {
    const approval = object(step.value.approval);
    return (
      <>
        <Select
          size="xs"
          label="Role that approves"
          disabled={!isEditable}
          data={["viewer", "member", "admin"]}
          value={String(approval.role ?? "admin")}
          onChange={(chosen) => onSet(["approval", "role"], chosen ?? undefined)}
        />
        {field("Message", ["approval", "message"], approval.message)}
        {field("Timeout", ["approval", "timeout"], approval.timeout)}
      </>
    );
  }
  return (
    <>
      <Command step={step} isEditable={isEditable} onSet={onSet} />
      {field("Code folder", ["code"], step.value.code)}
      {field("Requirements file", ["environment"], step.value.environment)}
      {field("Image", ["image"], step.value.image)}
    </>
  );
}

/** Written back when the field is left: a quotation mark may be open while somebody types. */
function Command({ step, isEditable, onSet }: Pick<Props, "step" | "isEditable" | "onSet">) {
  const words = Array.isArray(step.value.command) ? step.value.command.map(String) : [];
  const written = shellLine(words);
  const [line, setLine] = useState(written);
  useEffect(() => setLine(written), [written]);
  const given = commandWords(line);
  return (
    <TextInput
      size="xs"
      label="Command"
      disabled={!isEditable}
      value={line}
      error={given === null ? "A quotation mark is not closed." : null}
      onChange={(event) => setLine(event.currentTarget.value)}
      onBlur={() => line !== written && given && onSet(["command"], given)}
    />
  );
}

function Inputs({ step, graph, library, isEditable, onSet }: Props) {
  const { inputs } = portsOf(step, library);
  const given = object(step.value.inputs);
  if (inputs.length === 0) return null;
  return (
    <>
      <Divider label="Inputs" labelPosition="left" />
      {inputs.map((port) => (
        <Select
          key={port.name}
          size="xs"
          label={port.name}
          description={[port.type, port.help].filter(Boolean).join(": ")}
          withAsterisk={port.required}
          disabled={!isEditable}
          clearable
          searchable
          clearButtonProps={{ "aria-label": `Disconnect ${port.name}` }}
          placeholder="not connected"
          data={inputChoices(graph, library, step, port, given[port.name])}
          value={typeof given[port.name] === "string" ? String(given[port.name]) : null}
          onChange={(chosen) => onSet(["inputs", port.name], chosen ?? undefined)}
        />
      ))}
    </>
  );
}

function Params({ step, component, isEditable, onSet }: Props & { component?: LibraryComponent }) {
  const given = object(step.value.params);
  const declared = component?.params ?? [];
  const others = Object.keys(given).filter((name) => !declared.some((param) => param.name === name));
  if (declared.length + others.length === 0) return null;
  const free = others.map((name) => ({
    name,
    type: "json",
    required: false,
    choices: [],
    help: "",
    exclusive_min: false,
    scale: "linear",
  }));
  return (
    <>
      <Divider label="Parameters" labelPosition="left" />
      {[...declared, ...free].map((param) => (
        <ParamField
          key={param.name}
          param={param}
          value={given[param.name]}
          disabled={!isEditable}
          onChange={(value) => onSet(["params", param.name], value)}
        />
      ))}
    </>
  );
}

function Running({ step, graph, places, isEditable, onSet }: Props) {
  const [more, setMore] = useState(false);
  const text = (label: string, key: string, placeholder?: string) => (
    <TextInput
      size="xs"
      label={label}
      placeholder={placeholder}
      disabled={!isEditable}
      value={
        typeof step.value[key] === "object" ? JSON.stringify(step.value[key]) : String(step.value[key] ?? "")
      }
      onChange={(event) => onSet([key], plainValue(event.currentTarget.value))}
    />
  );
  const where = step.value.queue
    ? `queue:${step.value.queue}`
    : step.value.template
      ? `template:${step.value.template}`
      : null;
  return (
    <>
      <Divider label="Run" labelPosition="left" />
      {step.kind !== "approval" && (
        <Select
          size="xs"
          label="Where"
          placeholder="the project's default"
          disabled={!isEditable}
          clearable
          clearButtonProps={{ "aria-label": "Use the project's default" }}
          data={[
            {
              group: "Queues of templates",
              items: places.queues.map((name) => ({ value: `queue:${name}`, label: name })),
            },
            {
              group: "Templates",
              items: places.templates.map((name) => ({ value: `template:${name}`, label: name })),
            },
          ]}
          value={where}
          onChange={(chosen) => {
            const [kind, name] = (chosen ?? ":").split(":");
            onSet(["queue"], kind === "queue" ? name : undefined);
            onSet(["template"], kind === "template" ? name : undefined);
          }}
        />
      )}
      {text("Condition", "when", "${steps.check.outputs.accuracy >= 0.8}")}
      <TagsInput
        size="xs"
        label="After"
        disabled={!isEditable}
        data={graph.steps.map(({ name }) => name).filter((name) => name !== step.name)}
        value={Array.isArray(step.value.after) ? step.value.after.map(String) : []}
        onChange={(names) => onSet(["after"], names.length > 0 ? names : undefined)}
      />
      {step.kind !== "approval" && !more && (
        <Button variant="subtle" size="compact-xs" onClick={() => setMore(true)}>
          More options
        </Button>
      )}
      {more && (
        <>
          {text("Run over", "each", '{"lr": [0.1, 0.01]}')}
          {text("Retries", "retries", "0")}
          {text("Timeout", "timeout", "2h")}
          {text("Priority", "priority", "0")}
          <Select
            size="xs"
            label="Remember"
            disabled={!isEditable}
            placeholder="as the flow says"
            clearable
            data={["true", "false"]}
            value={step.value.remember === undefined ? null : String(step.value.remember)}
            onChange={(chosen) => onSet(["remember"], chosen === null ? undefined : chosen === "true")}
          />
        </>
      )}
    </>
  );
}

/** Numbers and documents as such, all else as text. */
function plainValue(text: string): unknown {
  if (text === "") return undefined;
  if (!/^[[{0-9-]/.test(text) || text.startsWith("${")) return text;
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

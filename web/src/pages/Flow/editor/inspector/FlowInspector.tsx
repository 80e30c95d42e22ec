/** What belongs to the flow as a whole: its parameters, limits, defaults, what it publishes, who it runs as. */
import { ActionIcon, Autocomplete, Group, NumberInput, Select, Stack, Title, Tooltip } from "@mantine/core";
import { IconX } from "@tabler/icons-react";
import type { LibraryComponent } from "../../../../api/shapes";
import type { FlowGraph } from "../../../../lib/flow/graph";
import { appendItem, deleteItem } from "../../../../lib/flow/patch";
import { object } from "../library";
import { publishable } from "../references";
import { FlowParams } from "./FlowParams";
import { FlowTriggers } from "./FlowTriggers";
import { Part } from "./Part";
import { SettledInput } from "./SettledInput";
import { checkDuration } from "./values";

export interface FlowForm {
  project: string;
  graph: FlowGraph;
  library: readonly LibraryComponent[];
  datasets: readonly string[];
  isEditable: boolean;
  /** Path from the top of the file; undefined removes it. */
  set: (path: readonly string[], value: unknown) => void;
  change: (kind: string, edit: (text: string) => string) => void;
  onClose: () => void;
}

export function FlowInspector(form: FlowForm) {
  const { graph, isEditable, set, onClose } = form;
  return (
    <Stack gap="xs" className="flow-inspector" component="aside" aria-label="Settings of the flow">
      <Group justify="space-between" wrap="nowrap">
        <Title order={2} size="h5">
          Settings of the flow
        </Title>
        <ActionIcon variant="subtle" color="gray" aria-label="Close the form" onClick={onClose}>
          <IconX size={16} />
        </ActionIcon>
      </Group>
      <SettledInput
        size="xs"
        label="Description"
        isLong
        disabled={!isEditable}
        written={String(graph.value.description ?? "")}
        onSettle={(text) => set(["description"], text || undefined)}
      />
      <FlowParams {...form} />
      <FlowTriggers {...form} />
      <Publications {...form} />
      <Limits {...form} />
      <Defaults {...form} />
    </Stack>
  );
}

function Publications({ graph, library, datasets, isEditable, set, change }: FlowForm) {
  const publish = Array.isArray(graph.value.publish) ? graph.value.publish.map(object) : [];
  const outputs = publishable(graph, library);
  const write = (index: number, key: "output" | "to", value: string) =>
    set(["publish", String(index), key], value);
  return (
    <Part
      title="Publish after the run"
      isOpen={publish.length > 0}
      told={publish.length > 0 ? publish.map((one) => String(one.to)).join(", ") : "nothing"}
    >
      {publish.map((one, index) => (
        <Group key={index} gap={6} wrap="nowrap" align="flex-end">
          <Select
            size="xs"
            label="Output"
            flex={1}
            searchable
            allowDeselect={false}
            disabled={!isEditable}
            data={[...new Set([...outputs, String(one.output ?? "")])].map((value) => ({
              value,
              label: value.replace(/^\$\{steps\.|\}$/g, "").replace(".outputs.", " → "),
            }))}
            value={String(one.output ?? "")}
            onChange={(chosen) => chosen && write(index, "output", chosen)}
          />
          <Autocomplete
            size="xs"
            label="To"
            w={108}
            disabled={!isEditable}
            data={datasets.map((name) => `${name}@main`)}
            value={String(one.to ?? "")}
            onChange={(text) => write(index, "to", text)}
          />
          {isEditable && (
            <Tooltip label="Do not publish this">
              <ActionIcon
                variant="subtle"
                color="gray"
                aria-label={`Do not publish to ${String(one.to)}`}
                onClick={() => change("unpublish", (text) => deleteItem(text, ["publish"], index))}
              >
                <IconX size={14} />
              </ActionIcon>
            </Tooltip>
          )}
        </Group>
      ))}
      {isEditable && (
        <Select
          size="xs"
          aria-label="Publish an output"
          placeholder={outputs.length > 0 ? "Publish an output …" : "No step makes files yet"}
          disabled={outputs.length === 0}
          value={null}
          searchable
          data={outputs}
          onChange={(output) =>
            output &&
            change("publish", (text) =>
              appendItem(text, ["publish"], { output, to: `${nameOf(output)}@main` }),
            )
          }
        />
      )}
    </Part>
  );
}

/** `${steps.split.outputs.train}` → `split-train` */
function nameOf(output: string): string {
  const [, step = "result", port = ""] = /steps\.([^.[]+).*\.outputs\.([^}]+)/.exec(output) ?? [];
  return `${step}-${port}`.replaceAll("_", "-");
}

function Limits({ graph, isEditable, set }: FlowForm) {
  const concurrency = object(graph.value.concurrency);
  const { max_parallel, on_failure, run_as } = graph.value;
  const limit = typeof concurrency.limit === "number" ? concurrency.limit : "";
  return (
    <Part
      title="Limits and failure"
      isOpen={[max_parallel, on_failure, run_as, graph.value.concurrency].some((one) => one !== undefined)}
      told={on_failure === "continue" ? "others go on after a failure" : ""}
    >
      <Select
        size="xs"
        label="When a step fails"
        disabled={!isEditable}
        allowDeselect={false}
        data={[
          { value: "stop", label: "stop the run" },
          { value: "continue", label: "finish steps that do not need it" },
        ]}
        value={on_failure === "continue" ? "continue" : "stop"}
        onChange={(chosen) => set(["on_failure"], chosen === "continue" ? "continue" : undefined)}
      />
      <NumberInput
        size="xs"
        label="Steps of one run at once"
        placeholder="no limit"
        min={1}
        disabled={!isEditable}
        value={typeof max_parallel === "number" ? max_parallel : ""}
        onChange={(given) => set(["max_parallel"], given === "" ? undefined : Number(given))}
      />
      <Group gap={6} grow align="flex-start">
        <NumberInput
          size="xs"
          label="Runs at once"
          placeholder="no limit"
          min={1}
          disabled={!isEditable}
          value={limit}
          onChange={(given) =>
            given === "" ? set(["concurrency"], undefined) : set(["concurrency", "limit"], Number(given))
          }
        />
        <Select
          size="xs"
          label="One more"
          disabled={!isEditable || limit === ""}
          allowDeselect={false}
          data={[
            { value: "queue", label: "waits" },
            { value: "skip", label: "is skipped" },
            { value: "cancel-running", label: "replaces the running one" },
          ]}
          value={String(concurrency.then ?? "queue")}
          onChange={(chosen) => set(["concurrency", "then"], chosen === "queue" ? undefined : chosen)}
        />
      </Group>
      <SettledInput
        size="xs"
        label="Runs as"
        description="me: whoever saved this version. Or service:NAME"
        disabled={!isEditable}
        written={String(run_as ?? "me")}
        check={(text) =>
          text === "" || text === "me" || text.startsWith("service:") ? null : "Write me or service:NAME."
        }
        onSettle={(text) => set(["run_as"], text === "me" || text === "" ? undefined : text)}
      />
    </Part>
  );
}

function Defaults({ graph, isEditable, set }: FlowForm) {
  const defaults = object(graph.value.defaults);
  return (
    <Part title="Defaults of every step" isOpen={Object.keys(defaults).length > 0}>
      <Group gap={6} grow align="flex-start">
        <NumberInput
          size="xs"
          label="Retries"
          placeholder="0"
          min={0}
          max={100}
          disabled={!isEditable}
          value={typeof defaults.retries === "number" ? defaults.retries : ""}
          onChange={(given) => set(["defaults", "retries"], given === "" ? undefined : Number(given))}
        />
        <SettledInput
          size="xs"
          label="Timeout"
          placeholder="none"
          disabled={!isEditable}
          written={String(defaults.timeout ?? "")}
          check={checkDuration}
          onSettle={(text) => set(["defaults", "timeout"], text || undefined)}
        />
      </Group>
      <Select
        size="xs"
        label="Use results of earlier runs"
        disabled={!isEditable}
        allowDeselect={false}
        data={[
          { value: "true", label: "yes, where nothing changed" },
          { value: "false", label: "no, always run" },
        ]}
        value={defaults.remember === false ? "false" : "true"}
        onChange={(chosen) => set(["defaults", "remember"], chosen === "false" ? false : undefined)}
      />
    </Part>
  );
}

/** What a step is: a dataset, a component, a command or an approval. */
import { Autocomplete, SegmentedControl, Select, Stack, Text } from "@mantine/core";
import { shellLine } from "../../../../lib/names";
import { commandWords } from "../../../../lib/shell";
import { componentOf, object } from "../library";
import type { StepForm } from "./form";
import { SettledInput } from "./SettledInput";
import { checkDuration } from "./values";

export function StepBasics(form: StepForm) {
  switch (form.step.kind) {
    case "dataset":
      return <DatasetBasics {...form} />;
    case "component":
      return <ComponentVersion {...form} />;
    case "approval":
      return <ApprovalBasics {...form} />;
    case "command":
      return <CommandBasics {...form} />;
  }
}

const CACHED = {
  near: "Cached on a volume where the step runs.",
  yes: "Cached before the step starts; it waits for that.",
  no: "Read from the lake while the step runs; nothing is cached.",
} as const;

function DatasetBasics({ step, graph, datasets, isEditable, set }: StepForm) {
  const cached = cachedOf(step.value.cached);
  const params = Object.entries(graph.params)
    .filter(([, one]) => one.type === "dataset")
    .map(([name]) => `\${params.${name}}`);
  return (
    <>
      <Autocomplete
        size="xs"
        label="Dataset"
        description="name@branch, name@tag or name@commit"
        disabled={!isEditable}
        data={[...params, ...datasets.map((name) => `${name}@main`)]}
        value={String(step.value.dataset ?? "")}
        onChange={(text) => set(["dataset"], text)}
      />
      <Stack gap={4}>
        <Text size="xs" fw={500} id="cached-label">
          Cached
        </Text>
        <SegmentedControl
          size="xs"
          fullWidth
          aria-labelledby="cached-label"
          disabled={!isEditable}
          data={["near", "yes", "no"]}
          value={cached}
          onChange={(chosen) => set(["cached"], chosen)}
        />
        <Text size="xs" c="dimmed">
          {CACHED[cached]}
        </Text>
      </Stack>
    </>
  );
}

/** `true` and `false` are what people mean by yes and no. */
function cachedOf(value: unknown): keyof typeof CACHED {
  if (value === "yes" || value === true) return "yes";
  return value === "no" || value === false ? "no" : "near";
}

function ComponentVersion({ step, library, isEditable, set }: StepForm) {
  const written = String(step.value.component ?? "");
  const name = written.split("@")[0] ?? "";
  const versions = library.filter((one) => one.name === name).map((one) => one.version);
  const majors = [...new Set(versions.map((one) => one.split(".")[0]))];
  const choices = [...majors, ...versions].map((version) => `${name}@${version}`);
  const found = componentOf(step, library);
  return (
    <Select
      size="xs"
      label="Component"
      description={found ? `Version ${found.version}, ${originWords(found.origin)}` : "Not in the library."}
      disabled={!isEditable}
      allowDeselect={false}
      data={choices.includes(written) ? choices : [written, ...choices]}
      value={written}
      onChange={(chosen) => chosen && set(["component"], chosen)}
    />
  );
}

export function originWords(origin: string): string {
  return origin === "built-in" ? "built in" : `from ${origin}`;
}

function ApprovalBasics({ step, isEditable, set }: StepForm) {
  const approval = object(step.value.approval);
  return (
    <>
      <Select
        size="xs"
        label="Role that approves"
        disabled={!isEditable}
        allowDeselect={false}
        data={["viewer", "member", "admin"]}
        value={String(approval.role ?? "admin")}
        onChange={(chosen) => set(["approval", "role"], chosen ?? undefined)}
      />
      <SettledInput
        size="xs"
        label="Message"
        description="May hold values: ${steps.train.outputs.accuracy}"
        disabled={!isEditable}
        isLong
        written={String(approval.message ?? "")}
        onSettle={(text) => set(["approval", "message"], text || undefined)}
      />
      <SettledInput
        size="xs"
        label="Timeout"
        placeholder="waits for ever"
        disabled={!isEditable}
        written={String(approval.timeout ?? "")}
        check={checkDuration}
        onSettle={(text) => set(["approval", "timeout"], text || undefined)}
      />
    </>
  );
}

function CommandBasics({ step, isEditable, set }: StepForm) {
  const words = Array.isArray(step.value.command) ? step.value.command.map(String) : [];
  const text = (label: string, key: string, placeholder: string, description?: string) => (
    <SettledInput
      size="xs"
      label={label}
      description={description}
      placeholder={placeholder}
      disabled={!isEditable}
      isLive
      written={String(step.value[key] ?? "")}
      onSettle={(given) => set([key], given || undefined)}
    />
  );
  return (
    <>
      <SettledInput
        size="xs"
        label="Command"
        description="Outputs go to $MILL_OUTPUT/NAME, parameters are in the file $MILL_PARAMS."
        classNames={{ input: "mono" }}
        disabled={!isEditable}
        isLong
        written={commandLine(words)}
        check={(line) => (commandWords(line) === null ? "A quotation mark is not closed." : null)}
        onSettle={(line) => set(["command"], commandWords(line) ?? [])}
      />
      {text("Code", "code", "none", "A folder beside the flow, or a dataset with code: team/repo@main")}
      {step.value.image ? null : text("Packages", "environment", "requirements.txt")}
      {step.value.environment ? null : text("Image", "image", "that of the template")}
    </>
  );
}

/** What a shell is given stands alone where typing it would give it to a shell again. */
export function commandLine(words: readonly string[]): string {
  const [shell, option, line] = words;
  if (words.length === 3 && shell === "sh" && option === "-c" && line !== undefined) {
    const again = commandWords(line);
    if (again?.[0] === "sh" && again[2] === line.trim()) return line;
  }
  return shellLine(words);
}

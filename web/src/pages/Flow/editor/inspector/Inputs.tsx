/** What a step reads: ports of its component, or whatever a command is given under names of its own. */
import { ActionIcon, Group, Select, Text, Tooltip } from "@mantine/core";
import { IconX } from "@tabler/icons-react";
import { renameKey } from "../../../../lib/flow/patch";
import { type Choice, inputChoices } from "../choices";
import { object, portsOf } from "../library";
import { checkName } from "./AddNamed";
import type { StepForm } from "./form";
import { Part } from "./Part";
import { SettledInput } from "./SettledInput";

export function Inputs(form: StepForm) {
  const { step, library } = form;
  const { inputs, isOpen } = portsOf(step, library);
  if (inputs.length === 0 && !isOpen) return null;
  return <Part title="Inputs">{isOpen ? <OpenInputs {...form} /> : <DeclaredInputs {...form} />}</Part>;
}

function DeclaredInputs({ step, graph, library, isEditable, set }: StepForm) {
  const given = object(step.value.inputs);
  return portsOf(step, library).inputs.map((port) => (
    <Select
      key={port.name}
      size="xs"
      label={port.name}
      description={[port.type, port.help].filter(Boolean).join(" · ")}
      withAsterisk={port.required}
      disabled={!isEditable}
      clearable
      searchable
      clearButtonProps={{ "aria-label": `Disconnect ${port.name}` }}
      placeholder="not connected"
      nothingFoundMessage={`No step makes a ${port.type}.`}
      data={inputChoices(graph, library, step, port, sourceOf(given[port.name]))}
      value={sourceOf(given[port.name])}
      onChange={(chosen) => set(["inputs", port.name], chosen ?? undefined)}
    />
  ));
}

function OpenInputs({ step, graph, library, isEditable, set, change }: StepForm) {
  const given = object(step.value.inputs);
  const choices = inputChoices(graph, library, step, { type: "directory" }, null);
  return (
    <>
      {Object.entries(given).map(([name, source]) => (
        <Group key={name} gap={6} wrap="nowrap" align="flex-end">
          <SettledInput
            size="xs"
            label="Name"
            title={`$MILL_INPUT_${name.toUpperCase()}`}
            w={90}
            disabled={!isEditable}
            written={name}
            check={(text) => checkName(text, Object.keys(given))}
            onSettle={(to) =>
              change("rename-input", (text) => renameKey(text, ["steps", step.name, "inputs", name], to))
            }
          />
          <Select
            size="xs"
            label="From"
            flex={1}
            disabled={!isEditable}
            searchable
            allowDeselect={false}
            data={withPresent(choices, sourceOf(source))}
            value={sourceOf(source)}
            onChange={(chosen) => chosen && set(["inputs", name], chosen)}
          />
          {isEditable && (
            <Tooltip label={`Remove input ${name}`}>
              <ActionIcon
                variant="subtle"
                color="gray"
                aria-label={`Remove input ${name}`}
                onClick={() => set(["inputs", name], undefined)}
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
          aria-label="Add an input"
          placeholder={choices.length > 0 ? "Add an input …" : "No step before this one makes files"}
          disabled={choices.length === 0}
          searchable
          value={null}
          data={choices}
          onChange={(chosen) => chosen && set(["inputs", nameFor(chosen, Object.keys(given))], chosen)}
        />
      )}
      {Object.keys(given).length > 0 && (
        <Text size="xs" c="dimmed">
          The command finds them at $MILL_INPUT_NAME.
        </Text>
      )}
    </>
  );
}

function withPresent(choices: Choice[], present: string | null): Choice[] {
  if (present === null || choices.some(({ value }) => value === present)) return choices;
  return [...choices, { value: present, label: present }];
}

/** `${…}` of an input, also of `{from: …, optional: true}`. */
function sourceOf(value: unknown): string | null {
  const source = typeof value === "string" ? value : object(value).from;
  return typeof source === "string" ? source : null;
}

/** The name of a new input: that of the output, or of the dataset step. */
function nameFor(reference: string, taken: readonly string[]): string {
  const word = (/([A-Za-z0-9_-]+)\}$/.exec(reference)?.[1] ?? "data").replaceAll("-", "_");
  let name = word;
  for (let number = 2; taken.includes(name); number++) name = `${word}_${number}`;
  return name;
}

/** What a command makes: declared here, so that other steps can be connected to it. */
import { ActionIcon, Checkbox, Group, Select, Text, Tooltip } from "@mantine/core";
import { IconX } from "@tabler/icons-react";
import { renameOutput } from "../../../../lib/flow/steps";
import { object, portsOf } from "../library";
import { AddNamed, checkName } from "./AddNamed";
import type { StepForm } from "./form";
import { Part } from "./Part";
import { SettledInput } from "./SettledInput";

export const OUTPUT_TYPES = [
  { group: "Files", items: ["directory", "file", "table", "image-folder", "model", "metrics"] },
  { group: "Values", items: ["int", "float", "bool", "str", "list", "json"] },
];

export function Outputs(form: StepForm) {
  const { step, library } = form;
  if (step.kind === "command") return <CommandOutputs {...form} />;
  const { outputs } = portsOf(step, library);
  if (step.kind !== "component" || outputs.length === 0) return null;
  return (
    <Part title="Outputs" isOpen={false} told={outputs.map((one) => one.name).join(", ")}>
      {outputs.map((port) => (
        <Text key={port.name} size="xs">
          <span className="mono">{port.name}</span>{" "}
          <Text span size="xs" c="dimmed">
            {[port.type, port.help].filter(Boolean).join(" · ")}
          </Text>
        </Text>
      ))}
    </Part>
  );
}

function CommandOutputs({ step, isEditable, set, change }: StepForm) {
  const declared = object(step.value.outputs);
  return (
    <Part title="Outputs">
      {Object.entries(declared).map(([name, port]) => (
        <Group key={name} gap={6} wrap="nowrap" align="flex-end">
          <SettledInput
            size="xs"
            label="Name"
            flex={1}
            disabled={!isEditable}
            written={name}
            check={(text) => checkName(text, Object.keys(declared))}
            onSettle={(to) => change("rename-output", (text) => renameOutput(text, step.name, name, to))}
          />
          <Select
            size="xs"
            label="Type"
            w={104}
            disabled={!isEditable}
            allowDeselect={false}
            data={OUTPUT_TYPES}
            value={String(object(port).type ?? "directory")}
            onChange={(chosen) => set(["outputs", name, "type"], chosen ?? "directory")}
          />
          <Tooltip label="May be missing">
            <Checkbox
              size="xs"
              mb={7}
              aria-label={`Output ${name} may be missing`}
              disabled={!isEditable}
              checked={object(port).optional === true}
              onChange={(event) =>
                set(["outputs", name, "optional"], event.currentTarget.checked ? true : undefined)
              }
            />
          </Tooltip>
          {isEditable && (
            <Tooltip label={`Remove output ${name}`}>
              <ActionIcon
                variant="subtle"
                color="gray"
                aria-label={`Remove output ${name}`}
                onClick={() => set(["outputs", name], undefined)}
              >
                <IconX size={14} />
              </ActionIcon>
            </Tooltip>
          )}
        </Group>
      ))}
      {isEditable && (
        <AddNamed
          what="output"
          taken={Object.keys(declared)}
          onAdd={(name) => set(["outputs", name], { type: "directory" })}
        />
      )}
    </Part>
  );
}

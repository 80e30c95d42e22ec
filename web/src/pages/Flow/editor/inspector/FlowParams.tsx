/** Parameters of the flow: the form that the Run button shows. */
import { ActionIcon, Group, NumberInput, Paper, Select, Stack, Text, Tooltip } from "@mantine/core";
import { IconTrash } from "@tabler/icons-react";
import { deleteIn, setIn } from "../../../../lib/flow/patch";
import { renameParam } from "../../../../lib/flow/steps";
import { AddNamed, checkName } from "./AddNamed";
import type { FlowForm } from "./FlowInspector";
import { Part } from "./Part";
import { SettledInput } from "./SettledInput";
import { readList, readValue, writeList, writeValue } from "./values";

const TYPES = ["int", "float", "str", "bool", "enum", "dataset", "list", "json", "secret"];

export function FlowParams(form: FlowForm) {
  const { graph, isEditable, change } = form;
  const names = Object.keys(graph.params);
  return (
    <Part title="Parameters" told={names.join(", ")}>
      {names.length === 0 && (
        <Text size="xs" c="dimmed">
          None yet. Whoever runs the flow is asked for them; steps use them as {"${params.NAME}"}.
        </Text>
      )}
      {names.map((name) => (
        <OneParam key={name} name={name} {...form} />
      ))}
      {isEditable && (
        <AddNamed
          what="parameter"
          taken={names}
          onAdd={(name) =>
            change("add-param", (text) => setIn(text, ["params", name], { type: "int", default: 1 }))
          }
        />
      )}
    </Part>
  );
}

function OneParam({ name, graph, isEditable, set, change }: FlowForm & { name: string }) {
  const param = graph.params[name] ?? {};
  const type = String(param.type ?? "str");
  const isNumber = type === "int" || type === "float";
  const put = (key: string, value: unknown) => set(["params", name, key], value);
  return (
    <Paper withBorder p={8} component="section" aria-label={`Parameter ${name}`}>
      <Stack gap={6}>
        <Group gap={6} wrap="nowrap" align="flex-end">
          <SettledInput
            size="xs"
            label="Name"
            flex={1}
            disabled={!isEditable}
            written={name}
            check={(text) => checkName(text, Object.keys(graph.params))}
            onSettle={(to) => change("rename-param", (text) => renameParam(text, name, to))}
          />
          <Select
            size="xs"
            label="Type"
            w={90}
            allowDeselect={false}
            disabled={!isEditable}
            data={TYPES}
            value={type}
            onChange={(chosen) =>
              chosen && change("param-type", (text) => retyped(text, name, chosen, param))
            }
          />
          {isEditable && (
            <Tooltip label={`Remove ${name}`}>
              <ActionIcon
                variant="subtle"
                color="red"
                aria-label={`Remove parameter ${name}`}
                onClick={() => change("remove-param", (text) => deleteIn(text, ["params", name]))}
              >
                <IconTrash size={14} />
              </ActionIcon>
            </Tooltip>
          )}
        </Group>
        <SettledInput
          size="xs"
          label="Default"
          placeholder="none: must be given"
          disabled={!isEditable}
          written={writeValue(param.default)}
          onSettle={(text) =>
            put("default", type === "str" || type === "dataset" ? text || undefined : readValue(text))
          }
        />
        {isNumber && (
          <Group gap={6} grow>
            <NumberInput
              size="xs"
              label="At least"
              disabled={!isEditable}
              value={typeof param.min === "number" ? param.min : ""}
              onChange={(given) => given !== "-" && put("min", given === "" ? undefined : Number(given))}
            />
            <NumberInput
              size="xs"
              label="At most"
              disabled={!isEditable}
              value={typeof param.max === "number" ? param.max : ""}
              onChange={(given) => given !== "-" && put("max", given === "" ? undefined : Number(given))}
            />
          </Group>
        )}
        {(isNumber || type === "enum" || type === "str") && (
          <SettledInput
            size="xs"
            label="Choices"
            placeholder={type === "enum" ? "a, b, c" : "any"}
            disabled={!isEditable}
            written={writeList(param.choices)}
            check={(text) =>
              Array.isArray(readList(text)) ? null : "Write values with commas between them."
            }
            onSettle={(text) => put("choices", text.trim() ? readList(text) : undefined)}
          />
        )}
        <SettledInput
          size="xs"
          label="Help"
          isLive
          disabled={!isEditable}
          written={String(param.help ?? "")}
          onSettle={(text) => put("help", text || undefined)}
        />
      </Stack>
    </Paper>
  );
}

/** Another type, without what does not belong to it. */
function retyped(text: string, name: string, type: string, param: Readonly<Record<string, unknown>>): string {
  const path = ["params", name];
  let done = setIn(text, [...path, "type"], type);
  if (type !== "int" && type !== "float")
    for (const key of ["min", "max"]) done = deleteIn(done, [...path, key]);
  const isKept =
    type === "json" ||
    typeof param.default ===
      (type === "bool" ? "boolean" : type === "int" || type === "float" ? "number" : "string");
  if (!isKept && param.default !== undefined) done = deleteIn(done, [...path, "default"]);
  if (type === "bool" && !isKept) done = setIn(done, [...path, "default"], false);
  return done;
}

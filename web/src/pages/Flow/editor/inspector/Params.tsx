/** The parameters of a step: fields by the component's schema, and names of one's own for a command. */
import { ActionIcon, Group, Tooltip } from "@mantine/core";
import { IconX } from "@tabler/icons-react";
import type { ComponentParam } from "../../../../api/shapes";
import { setIn } from "../../../../lib/flow/patch";
import { freeName } from "../../../../lib/flow/steps";
import { componentOf, object } from "../library";
import { referencesFor } from "../references";
import { AddNamed } from "./AddNamed";
import type { StepForm } from "./form";
import { ParamField } from "./ParamField";
import { Part } from "./Part";
import { ReferenceMenu } from "./ReferenceMenu";

export function Params(form: StepForm) {
  const { step, library, isEditable } = form;
  const given = object(step.value.params);
  const declared = componentOf(step, library)?.params ?? [];
  const others = Object.keys(given).filter((name) => !declared.some((param) => param.name === name));
  const isCommand = step.kind === "command";
  if (declared.length + others.length === 0 && !isCommand) return null;
  return (
    <Part title="Parameters">
      {declared.map((param) => (
        <OneParam key={param.name} {...form} param={param} value={given[param.name]} />
      ))}
      {others.map((name) => (
        <OneParam
          key={name}
          {...form}
          param={{ name, type: "json", required: false }}
          value={given[name]}
          isFree
        />
      ))}
      {isCommand && isEditable && (
        <AddNamed
          what="parameter"
          taken={Object.keys(given)}
          onAdd={(name) => form.set(["params", name], 1)}
        />
      )}
    </Part>
  );
}

interface OneProps extends StepForm {
  param: ComponentParam;
  value: unknown;
  /** Declared by nothing: it can be removed. */
  isFree?: boolean;
}

function OneParam({ param, value, isFree = false, ...form }: OneProps) {
  const { step, graph, library, isEditable, set, change } = form;
  const give = (given: unknown) => set(["params", param.name], given);
  const promote = () => change("promote", (text) => promoted(text, step.name, param, value, graph.params));
  return (
    <ParamField
      param={param}
      value={value}
      disabled={!isEditable}
      onChange={give}
      action={
        isEditable && (
          <Group gap={0} wrap="nowrap">
            <ReferenceMenu
              label={param.name}
              references={() => referencesFor(graph, library, step, isFree ? undefined : param.type)}
              onChoose={(text) => give(`\${${text}}`)}
              onPromote={String(value ?? "").includes("${") ? undefined : promote}
            />
            {isFree && (
              <Tooltip label={`Remove ${param.name}`}>
                <ActionIcon
                  variant="subtle"
                  color="gray"
                  size="sm"
                  aria-label={`Remove parameter ${param.name}`}
                  onClick={() => give(undefined)}
                >
                  <IconX size={14} />
                </ActionIcon>
              </Tooltip>
            )}
          </Group>
        )
      }
    />
  );
}

/** The text with a parameter of the flow that has the same bounds, and the step taking its value. */
export function promoted(
  text: string,
  step: string,
  param: ComponentParam,
  value: unknown,
  present: Readonly<Record<string, unknown>>,
): string {
  const name = freeName(param.name, Object.keys(present)).replaceAll("-", "_");
  const kept = { min: param.min, max: param.max, exclusive_min: param.exclusive_min || undefined };
  const settings = {
    type: param.type === "json" && value !== undefined ? typeOf(value) : param.type,
    default: value ?? param.default ?? undefined,
    optional: value === undefined && param.default == null && !param.required ? true : undefined,
    ...kept,
    choices: param.choices && param.choices.length > 0 ? param.choices : undefined,
    help: param.help || undefined,
  };
  const declared = Object.fromEntries(Object.entries(settings).filter(([, one]) => one != null));
  const withParam = setIn(text, ["params", name], declared);
  return setIn(withParam, ["steps", step, "params", param.name], `\${params.${name}}`);
}

function typeOf(value: unknown): string {
  if (typeof value === "number") return Number.isInteger(value) ? "int" : "float";
  if (typeof value === "boolean") return "bool";
  return Array.isArray(value) ? "list" : typeof value === "string" ? "str" : "json";
}

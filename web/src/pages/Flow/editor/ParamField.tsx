/** One parameter as the field that its type asks for. A reference (`${…}`) is always text. */
import { NumberInput, Select, Switch, TextInput } from "@mantine/core";
import type { ComponentParam } from "../../../api/shapes";

interface Props {
  param: ComponentParam;
  /** What the step gives; undefined: the default. */
  value: unknown;
  disabled?: boolean;
  onChange: (value: unknown) => void;
}

export function isReference(value: unknown): boolean {
  return typeof value === "string" && value.includes("${");
}

export function ParamField({ param, value, disabled, onChange }: Props) {
  const choices = param.choices ?? [];
  const common = {
    label: param.name,
    description: param.help || undefined,
    withAsterisk: param.required,
    disabled,
    size: "xs" as const,
    placeholder: param.default == null ? undefined : String(written(param.default)),
  };
  const text = (shown: string) => (
    <TextInput
      {...common}
      value={shown}
      onChange={(event) => onChange(readText(param, event.currentTarget.value))}
    />
  );
  if (isReference(value)) return text(String(value));
  if (choices.length > 0) {
    return (
      <Select
        {...common}
        clearable
        clearButtonProps={{ "aria-label": "Use the default" }}
        data={choices.map(String)}
        value={value === undefined ? null : String(value)}
        onChange={(chosen) => onChange(choices.find((one) => String(one) === chosen))}
      />
    );
  }
  if (param.type === "bool") {
    return (
      <Switch
        label={param.name}
        description={param.help || undefined}
        size="xs"
        disabled={disabled}
        checked={Boolean(value ?? param.default ?? false)}
        onChange={(event) => onChange(event.currentTarget.checked)}
      />
    );
  }
  if (param.type === "int" || param.type === "float") {
    return (
      <NumberInput
        {...common}
        allowDecimal={param.type === "float"}
        decimalScale={param.type === "int" ? 0 : undefined}
        min={param.min ?? undefined}
        max={param.max ?? undefined}
        clampBehavior="blur"
        value={typeof value === "number" ? value : ""}
        onChange={(given) => onChange(given === "" ? undefined : Number(given))}
      />
    );
  }
  return text(value === undefined ? "" : String(written(value)));
}

function written(value: unknown): unknown {
  return typeof value === "object" ? JSON.stringify(value) : value;
}

/** Text as typed; JSON where the type is a list or a document and it can be read. */
export function readText(param: Pick<ComponentParam, "type">, text: string): unknown {
  if (text === "") return undefined;
  if (isReference(text) || !["list", "json"].includes(param.type)) return text;
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

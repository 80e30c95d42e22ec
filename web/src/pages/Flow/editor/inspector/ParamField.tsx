/** One parameter as the field that its type asks for. A reference (`${…}`) is always text. */
import { NumberInput, Select, Switch } from "@mantine/core";
import type { ReactNode } from "react";
import type { ComponentParam } from "../../../../api/shapes";
import { SettledInput } from "./SettledInput";
import { isReference, readValue, writeValue } from "./values";

interface Props {
  param: ComponentParam;
  /** What the step gives; undefined: the default. */
  value: unknown;
  disabled?: boolean;
  onChange: (value: unknown) => void;
  /** At the end of the field. */
  action?: ReactNode;
}

export function ParamField({ param, value, disabled, onChange, action }: Props) {
  const choices = param.choices ?? [];
  const common = {
    label: param.name,
    description: helpOf(param),
    withAsterisk: param.required,
    disabled,
    size: "xs" as const,
    placeholder: param.default == null ? (param.required ? "" : "not set") : writeValue(param.default),
  };
  if (isReference(value)) {
    return (
      <SettledInput
        {...common}
        classNames={{ input: "mono" }}
        written={value}
        onSettle={(text) => onChange(text === "" ? undefined : text)}
        rightSection={action}
      />
    );
  }
  if (param.type === "bool") {
    const fallback = param.default ?? false;
    return (
      <div className="flow-switch">
        <Switch
          label={param.name}
          description={helpOf(param)}
          size="xs"
          disabled={disabled}
          checked={Boolean(value ?? fallback)}
          onChange={(event) => {
            const chosen = event.currentTarget.checked;
            onChange(chosen === fallback ? undefined : chosen);
          }}
        />
        {action}
      </div>
    );
  }
  if (choices.length > 0) {
    return (
      <div className="flow-field">
        <Select
          {...common}
          clearable
          clearButtonProps={{ "aria-label": `Use the default of ${param.name}` }}
          data={choices.map(String)}
          value={value === undefined ? null : String(value)}
          error={value === undefined || choices.map(String).includes(String(value)) ? null : "Not a choice."}
          onChange={(chosen) => onChange(choices.find((one) => String(one) === chosen))}
        />
        {action}
      </div>
    );
  }
  if (param.type === "int" || param.type === "float") {
    return (
      <div className="flow-field">
        <NumberInput
          {...common}
          allowDecimal={param.type === "float"}
          hideControls={param.type === "float"}
          error={outOfBounds(param, value)}
          value={typeof value === "number" ? value : ""}
          // Text is what is half typed: `0.`, `-`.
          onChange={(given) => {
            if (given === "") onChange(undefined);
            else if (typeof given === "number") onChange(given);
          }}
        />
        {action}
      </div>
    );
  }
  if (param.type === "list" || param.type === "json") {
    return (
      <SettledInput
        {...common}
        classNames={{ input: "mono" }}
        written={writeValue(value)}
        onSettle={(text) => onChange(readValue(text))}
        rightSection={action}
      />
    );
  }
  return (
    <SettledInput
      {...common}
      isLive
      written={writeValue(value)}
      onSettle={(text) => onChange(text || undefined)}
      rightSection={action}
    />
  );
}

/** `Passes over the data · 1 to 500`. */
export function helpOf(param: ComponentParam): string | undefined {
  const { min, max } = param;
  const least = param.exclusive_min ? `more than ${min}` : `at least ${min}`;
  const bounds =
    min != null && max != null && !param.exclusive_min
      ? `${min} to ${max}`
      : [min != null && least, max != null && `at most ${max}`].filter(Boolean).join(", ");
  return [param.help, bounds].filter(Boolean).join(" · ") || undefined;
}

export function outOfBounds(param: ComponentParam, value: unknown): string | null {
  if (typeof value !== "number") return null;
  const { min, max } = param;
  if (min != null && (param.exclusive_min ? value <= min : value < min))
    return param.exclusive_min ? `Must be more than ${min}.` : `Must be at least ${min}.`;
  if (max != null && value > max) return `Must be at most ${max}.`;
  return param.type === "int" && !Number.isInteger(value) ? "Must be a whole number." : null;
}

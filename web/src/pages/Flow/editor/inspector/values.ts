/** Values of a flow as people type them, and back. */
import { parse } from "yaml";
import { inline } from "../../../../lib/flow/patch";

export function isReference(value: unknown): value is string {
  return typeof value === "string" && value.includes("${");
}

/** A value on one line: text as it is, everything else as YAML writes it. */
export function writeValue(value: unknown): string {
  if (value === undefined || value === null) return "";
  return typeof value === "string" ? value : inline(value);
}

/** `0.1` is a number, `true` a boolean, `[1, 2]` a list, all else text. Undefined for nothing. */
export function readValue(text: string): unknown {
  const trimmed = text.trim();
  if (trimmed === "") return undefined;
  if (isReference(trimmed)) return trimmed;
  try {
    return parse(trimmed);
  } catch {
    return text;
  }
}

/** `0.1, 0.01` of a list, or a reference as it is. */
export function writeList(value: unknown): string {
  if (!Array.isArray(value)) return writeValue(value);
  return inline(value).slice(1, -1).trim();
}

/** A list of what stands between commas, or one reference. Null where it cannot be read. */
export function readList(text: string): unknown[] | string | null {
  if (/^\s*\$\{[^}]*\}\s*$/.test(text)) return text.trim();
  try {
    return parse(`[${text}]`) as unknown[];
  } catch {
    return null;
  }
}

/** The expression of a condition without `${` and `}`. */
export function bareCondition(value: unknown): string {
  const text = String(value ?? "");
  return /^\$\{[\s\S]*\}$/.test(text) ? text.slice(2, -1).trim() : text;
}

export function writtenCondition(text: string): string | undefined {
  const bare = bareCondition(text.trim());
  return bare ? `\${${bare}}` : undefined;
}

/** `30s`, `5m`, `2h`, `7d`, or seconds. */
export function checkDuration(text: string): string | null {
  return text === "" || /^\d+(\.\d+)?\s*(s|m|h|d|w)?$/.test(text.trim()) ? null : "Write 30s, 5m, 2h or 7d.";
}

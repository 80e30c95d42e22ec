/** Reads the part of the address behind `?`, which anybody may have typed: what is not right is left out. */

type Raw = Record<string, unknown>;

/** A text; numbers are taken too, since `?search=12` is read as one. */
export function text(raw: Raw, name: string): string | undefined {
  const value = raw[name];
  if (typeof value === "number") return String(value);
  return typeof value === "string" && value !== "" ? value : undefined;
}

export function flag(raw: Raw, name: string): true | undefined {
  return raw[name] === true || raw[name] === "true" || raw[name] === 1 ? true : undefined;
}

/** A number to count by, from 1 on. */
export function count(raw: Raw, name: string): number | undefined {
  const value = Number(text(raw, name));
  return Number.isSafeInteger(value) && value > 0 ? value : undefined;
}

export function oneOf<Choice extends string>(
  raw: Raw,
  name: string,
  choices: readonly Choice[],
): Choice | undefined {
  return choices.find((choice) => choice === raw[name]);
}

/** Where to go after signing in: a path of this page, never another site. */
export function ownPath(raw: Raw, name: string): string | undefined {
  const value = text(raw, name);
  return value && /^\/(?![/\\])/.test(value) ? value : undefined;
}

/** How names and commit ids are written. */

/** Enough of a commit id to tell it apart, as the command line prints it. */
export function shortId(id: string): string {
  return id.slice(0, 12);
}

/** A ref as it is shown: a commit id is shortened, a branch or a tag stands as it is. */
export function shortRef(ref: string): string {
  return /^[0-9a-f]{64}$/.test(ref) ? shortId(ref) : ref;
}

/** A file's name with a sign in place of each character that nobody would see, like a line break. */
export function visibleName(name: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is looked for
  return name.replace(/[\u0000-\u001f\u007f]/g, (found) =>
    found === "\u007f" ? "\u2421" : String.fromCharCode(0x2400 + found.charCodeAt(0)),
  );
}

/** `project/name` as its two parts. */
export function splitWritten(written: string): { project: string; name: string } {
  const slash = written.indexOf("/");
  return { project: written.slice(0, slash), name: written.slice(slash + 1) };
}

/** Up to two letters for an avatar: `mary.vale` is `MV`, `dan` is `D`. */
export function initials(name: string): string {
  const parts = name.split(/[\s._-]+/).filter(Boolean);
  return parts
    .slice(0, 2)
    .map((part) => part.charAt(0).toUpperCase())
    .join("");
}

/** One argument of a command line, quoted for a POSIX shell only where it must be. */
export function shellQuote(argument: string): string {
  return /^[\w@%+=:,./-]+$/.test(argument) ? argument : `'${argument.replaceAll("'", `'\\''`)}'`;
}

/** A command as one line that can be pasted into a shell. */
export function shellLine(command: readonly string[]): string {
  return command.map(shellQuote).join(" ");
}

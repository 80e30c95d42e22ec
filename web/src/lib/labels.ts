/** Labels, as the command line takes them: `KEY=VALUE`. */

export function labelsOf(written: readonly string[]): Record<string, string> {
  return Object.fromEntries(written.map(splitLabel));
}

export function writeLabels(labels: Readonly<Record<string, string>> | undefined): string[] {
  return Object.entries(labels ?? {}).map(([key, value]) => `${key}=${value}`);
}

/** For forms: what is wrong with the first wrong one, null if none is. */
export function labelsProblem(written: readonly string[]): string | null {
  const wrong = written.find((label) => !/^[^=]+=./.test(label));
  return wrong === undefined ? null : `Write ${wrong} as KEY=VALUE.`;
}

function splitLabel(written: string): [string, string] {
  const at = written.indexOf("=");
  return at < 0 ? [written, ""] : [written.slice(0, at), written.slice(at + 1)];
}

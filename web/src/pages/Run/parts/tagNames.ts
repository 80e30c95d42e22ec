/** Tags that tools write for themselves: what they say is shown where it belongs, such as the Git commit. */
const KEPT_BY_TOOLS = /^(mlflow|git)\./;

export function ownTags(tags: Readonly<Record<string, string>>): string[] {
  return Object.keys(tags)
    .filter((name) => !KEPT_BY_TOOLS.test(name))
    .sort();
}

/** Which output fits which input: the same rule as `fits` of the server's `model/flow.py`. */

const VALUE_TYPES = new Set(["int", "float", "bool", "str", "enum", "list", "json"]);
const DIRECTORIES = new Set(["directory", "table", "image-folder", "model"]);
const ALSO = new Set(["int→float", "enum→str", "str→enum", "dataset→str"]);

export function isValueType(type: string): boolean {
  return VALUE_TYPES.has(type);
}

export function fits(given: string, wanted: string): boolean {
  if (given === wanted) return true;
  if (wanted === "json") return VALUE_TYPES.has(given);
  if (wanted === "directory") return DIRECTORIES.has(given);
  return ALSO.has(`${given}→${wanted}`);
}

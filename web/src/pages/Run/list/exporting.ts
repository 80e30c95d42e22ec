/** Runs as a CSV file, with the columns of the table. */
import type { Run } from "../../../api/shapes";
import { cellOf, type Field, writeField } from "./fields";

export function csvOf(runs: readonly Run[], fields: readonly Field[]): string {
  const heads = ["id", "name", "project", ...fields.map(writeField)];
  const rows = runs.map((run) => [
    run.id,
    run.name,
    run.project,
    ...fields.map((field) => cellOf(run, field)),
  ]);
  return [heads, ...rows].map((row) => `${row.map(quoted).join(",")}\r\n`).join("");
}

function quoted(value: string | number | null): string {
  const text = value === null ? "" : String(value);
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

/** The browser asks where to keep it, or puts it among the downloads. */
export function saveFile(name: string, content: string): void {
  const url = URL.createObjectURL(new Blob([content], { type: "text/csv" }));
  const link = document.createElement("a");
  [link.href, link.download] = [url, name];
  link.click();
  URL.revokeObjectURL(url);
}

import { Text } from "@mantine/core";
import type { AuditRecord } from "../../../api/shapes";
import { shortId } from "../../../lib/names";

const DIGEST = /^[0-9a-f]{64}$/;

/** Values as they were and as they are, as a diff; and what else is known of the entry. */
export function Changes({ entry }: { entry: AuditRecord }) {
  const before = entry.before ?? {};
  const after = entry.after ?? {};
  const names = [...new Set([...Object.keys(before), ...Object.keys(after)])];
  const details = Object.entries(entry.details);
  if (names.length === 0 && details.length === 0) return "–";
  return (
    <>
      {names.length > 0 && (
        <div className="audit-changes">
          {names.map((name) => (
            <div key={name}>
              {name in before && (
                <div data-sign="-">
                  <span aria-hidden>− </span>
                  {name}: <del>{said(before[name])}</del>
                </div>
              )}
              {name in after && (
                <div data-sign="+">
                  <span aria-hidden>+ </span>
                  {name}: <ins>{said(after[name])}</ins>
                </div>
              )}
            </div>
          ))}
        </div>
      )}
      {details.length > 0 && (
        <Text size="xs" c="dimmed" className="row-name">
          {details.map(([name, value]) => `${name}: ${said(value)}`).join(", ")}
        </Text>
      )}
    </>
  );
}

export function said(value: unknown): string {
  if (value === null || value === undefined || value === "") return "none";
  if (typeof value === "string") return DIGEST.test(value) ? shortId(value) : value;
  return JSON.stringify(value);
}

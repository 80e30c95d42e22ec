import { Checkbox, Paper } from "@mantine/core";
import { type ReactNode, useContext, useRef } from "react";
import type { Run } from "../../../api/shapes";
import { useRoomBelow } from "../../../hooks/useRoomBelow";
import { ChosenRuns } from "./chosen";
import { type Field, nextOrder, readOrder, writeField } from "./fields";
import { HeaderCell } from "./HeaderCell";
import { RunCell, RunLink } from "./RunCells";

/** Room for the buttons that turn pages. */
const PAGES = 44;

interface FrameProps {
  label: string;
  fields: readonly Field[];
  sort: string | undefined;
  /** What stands above the names: a box to select all, or nothing. */
  first: ReactNode;
  showsProject: boolean;
  onFields: (fields: Field[]) => void;
  onSort: (sort: string | undefined) => void;
  onGroup: (group: string) => void;
  children: ReactNode;
}

/** The frame of the table: heads of columns that stay in sight, names that stay at the left. */
export function TableFrame(props: FrameProps) {
  const { label, fields, sort, first, showsProject, onFields, onSort, onGroup, children } = props;
  const frame = useRef<HTMLDivElement>(null);
  const room = useRoomBelow(frame, true);
  const order = readOrder(sort);
  return (
    <Paper withBorder ref={frame}>
      <section
        className="run-table-frame"
        style={{ maxHeight: room - PAGES }}
        // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by keyboard
        tabIndex={0}
        aria-label={label}
      >
        <table className="run-table" aria-label={label}>
          <thead>
            <tr>
              <th className="run-name" scope="col">
                <div className="run-name-inside">
                  {first}
                  Name
                </div>
              </th>
              {showsProject && <th scope="col">Project</th>}
              {fields.map((field, place) => (
                <HeaderCell
                  key={writeField(field)}
                  field={field}
                  order={order}
                  onSort={() => onSort(nextOrder(sort, field))}
                  onMove={{
                    left: place > 0 ? () => onFields(moved(fields, place, -1)) : undefined,
                    right: place < fields.length - 1 ? () => onFields(moved(fields, place, 1)) : undefined,
                  }}
                  onHide={() => onFields(fields.filter((other) => other !== field))}
                  onGroup={isShared(field) ? () => onGroup(writeField(field)) : undefined}
                />
              ))}
            </tr>
          </thead>
          <tbody>{children}</tbody>
        </table>
      </section>
    </Paper>
  );
}

interface RowProps {
  run: Run;
  fields: readonly Field[];
  showsProject: boolean;
  /** Inside an opened group. */
  inner?: boolean;
}

export function RunRow({ run, fields, showsProject, inner }: RowProps) {
  const { ids, project, onChange } = useContext(ChosenRuns);
  const isChosen = ids.includes(run.id);
  return (
    <tr data-chosen={isChosen || undefined}>
      <td className="run-name" data-inner={inner || undefined}>
        <div className="run-name-inside">
          {/* Plain, as all of a row: there are a hundred of them. */}
          <input
            type="checkbox"
            className="run-check"
            aria-label={`Select ${run.name}`}
            checked={isChosen}
            disabled={!isChosen && project !== undefined && project !== run.project}
            onChange={() => onChange(isChosen ? ids.filter((id) => id !== run.id) : [...ids, run.id])}
          />
          <RunLink run={run} />
        </div>
      </td>
      {showsProject && <td>{run.project}</td>}
      {fields.map((field) => (
        <td key={writeField(field)} data-number={field.kind === "metrics" || undefined}>
          <RunCell run={run} field={field} />
        </td>
      ))}
    </tr>
  );
}

/** All rows of the page at once. */
export function ChooseAll({ runs }: { runs: readonly Run[] }) {
  const { ids, onChange } = useContext(ChosenRuns);
  const shown = runs.map((run) => run.id);
  const chosen = shown.filter((id) => ids.includes(id)).length;
  const oneProject = new Set(runs.map((run) => run.project)).size < 2;
  return (
    <Checkbox
      size="xs"
      aria-label="Select all shown"
      disabled={!oneProject || shown.length === 0}
      checked={chosen > 0 && chosen === shown.length}
      indeterminate={chosen > 0 && chosen < shown.length}
      onChange={(event) => {
        const others = ids.filter((id) => !shown.includes(id));
        onChange(event.currentTarget.checked ? [...others, ...shown] : others);
      }}
    />
  );
}

/** Runs are grouped by what several of them have. */
function isShared(field: Field): boolean {
  if (field.kind === "attributes") return ["state", "experiment", "user", "parent"].includes(field.key);
  return field.kind !== "metrics";
}

function moved(fields: readonly Field[], place: number, by: 1 | -1): Field[] {
  const after = [...fields];
  const [field] = after.splice(place, 1);
  if (field) after.splice(place + by, 0, field);
  return after;
}

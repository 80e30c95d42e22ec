import { useVirtualizer, type VirtualItem } from "@tanstack/react-virtual";
import { useRef } from "react";
import { TextLink } from "../../../components/TextLink";
import type { ComparedRun } from "../Compare";

const [ROW, KEY, CELL] = [30, 200, 130];

export interface MatrixRow {
  readonly key: string;
  /** A heading over the rows below it. */
  readonly title?: boolean;
  readonly differs: boolean;
  /** In the order of the runs. */
  readonly values: readonly string[];
}

interface Props {
  label: string;
  compared: readonly ComparedRun[];
  rows: readonly MatrixRow[];
}

/**
 * Thousands of keys by hundreds of runs: only the cells in sight are there, others are room. What differs from the
 * first run is tinted.
 */
export function Matrix({ label, compared, rows }: Props) {
  const box = useRef<HTMLElement>(null);
  const common = { getScrollElement: () => box.current };
  const down = useVirtualizer({ ...common, count: rows.length, estimateSize: () => ROW, overscan: 10 });
  const across = useVirtualizer({
    ...common,
    horizontal: true,
    count: compared.length,
    estimateSize: () => CELL,
    overscan: 4,
  });
  const [columns, lines] = [across.getVirtualItems(), down.getVirtualItems()];
  const [left, right] = roomAround(columns, across.getTotalSize());
  const [above, below] = roomAround(lines, down.getTotalSize());
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by the keyboard
    <section ref={box} className="matrix" tabIndex={0} aria-label={label}>
      <table
        aria-label={label}
        aria-rowcount={rows.length + 1}
        aria-colcount={compared.length + 1}
        style={{ width: across.getTotalSize() + KEY }}
      >
        <thead>
          <tr>
            <th className="matrix-key" style={{ width: KEY }}>
              Key
            </th>
            <Room width={left} />
            {columns.map(({ index }) => (
              <Head key={index} compared={compared[index]} />
            ))}
            <Room width={right} />
          </tr>
        </thead>
        <tbody>
          {above > 0 && <tr aria-hidden style={{ height: above }} />}
          {lines.map(({ index }) => (
            <tr key={index} aria-rowindex={index + 2} data-title={rows[index]?.title || undefined}>
              <th scope="row" className="matrix-key" title={rows[index]?.key}>
                {rows[index]?.key}
              </th>
              <Room width={left} />
              {columns.map(({ index: column }) => (
                <Cell key={column} row={rows[index]} column={column} />
              ))}
              <Room width={right} />
            </tr>
          ))}
          {below > 0 && <tr aria-hidden style={{ height: below }} />}
        </tbody>
      </table>
    </section>
  );
}

/** Before and behind what is in sight. */
function roomAround(items: readonly VirtualItem[], total: number): [number, number] {
  return [items[0]?.start ?? 0, total - (items.at(-1)?.end ?? total)];
}

function Room({ width }: { width: number }) {
  return width > 0 ? <td aria-hidden style={{ width }} /> : null;
}

function Head({ compared }: { compared: ComparedRun | undefined }) {
  if (!compared) return null;
  const { run, color } = compared;
  return (
    <th scope="col" style={{ width: CELL, boxShadow: `inset 0 3px ${color}` }}>
      <TextLink
        to="/projects/$project/runs/$run"
        params={{ project: run.project, run: run.id }}
        size="sm"
        fw={600}
        title={run.name}
      >
        {run.name}
      </TextLink>
    </th>
  );
}

function Cell({ row, column }: { row: MatrixRow | undefined; column: number }) {
  if (!row || row.title) return <td />;
  const value = row.values[column] ?? "–";
  return (
    <td className="mono" data-differs={(row.differs && value !== row.values[0]) || undefined} title={value}>
      {value}
    </td>
  );
}

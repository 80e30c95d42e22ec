/** Drift of an endpoint as rows and lines; and its settings as `endpoint.yaml` has them. */
import type { EndpointSpec } from "../../../api/endpoints";
import type { EndpointDrift } from "../../../api/shapes";
import type { ChartData } from "../../../components/Chart";

type Window = NonNullable<EndpointDrift["newest"]>;
export type DriftColumn = Window["columns"][number];

/** As many lines as can be told apart. */
const MOST_LINES = 8;

/** A column of the newest window with its PSI in all windows, oldest first; null where it was not compared. */
export type DriftRow = DriftColumn & { history: (number | null)[] };

export function rowsOf({ newest, history }: EndpointDrift): DriftRow[] {
  const windows = [...history].reverse();
  return (newest?.columns ?? []).map((column) => ({
    ...column,
    history: windows.map(({ psi }) => psi[column.column] ?? null),
  }));
}

/** PSI of the columns that moved most in the newest window, window by window, beside the limit. */
export function linesOf(drift: EndpointDrift): ChartData {
  const windows = drift.history.filter(({ psi }) => Object.keys(psi).length > 0).reverse();
  const columns = (drift.newest?.columns ?? []).slice(0, MOST_LINES - 1).map(({ column }) => column);
  return {
    x: windows.map(({ until }) => Date.parse(until) / 1000),
    time: true,
    fromZero: true,
    lines: [
      ...columns.map((label) => ({ label, values: windows.map(({ psi }) => psi[label] ?? null) })),
      { label: "alert above", values: windows.map(() => drift.psi_max) },
    ],
  };
}

export interface DriftSettings {
  reference: string;
  window: string;
  every: string;
  psi_max: number;
  p_min: number;
}

export const STANDARD: DriftSettings = { reference: "", window: "1h", every: "", psi_max: 0.2, p_min: 0.01 };

export function settingsOf(spec: EndpointSpec): DriftSettings {
  const written = spec.drift as (Omit<DriftSettings, "psi_max" | "p_min"> & { alert?: object }) | undefined;
  if (!written) return STANDARD;
  const { window = STANDARD.window, every = "", alert } = written;
  return { ...STANDARD, ...written, window: shortTime(window), every: shortTime(every), ...alert };
}

/** `3600s`, as the server writes it, is `1h`. */
function shortTime(text: string): string {
  const seconds = Number(/^(\d+)s$/.exec(text)?.[1] ?? 0);
  const unit = ([86_400, 3600, 60] as const).find((one) => seconds > 0 && seconds % one === 0);
  return unit ? `${seconds / unit}${{ 86400: "d", 3600: "h", 60: "m" }[unit]}` : text;
}

/** True if requests are committed with their contents, which drift is measured on. */
export function isLogged(spec: EndpointSpec): boolean {
  const log = spec.log as { level?: string; to?: string } | undefined;
  return log?.level === "full" && Boolean(log.to);
}

/** The specification with these settings, and with a log where it has none that can be compared. */
export function withDrift(spec: EndpointSpec, asked: DriftSettings): EndpointSpec {
  const { reference, window, every, psi_max, p_min } = asked;
  const known = (spec.drift as object | undefined) ?? {};
  const log = spec.log as { to?: string } | undefined;
  return {
    ...spec,
    ...(isLogged(spec)
      ? {}
      : { log: { ...log, level: "full", to: log?.to ?? `${spec.name as string}-requests@main` } }),
    drift: { ...known, reference, window, every: every || window, alert: { psi_max, p_min } },
  };
}

export function withoutDrift(spec: EndpointSpec): EndpointSpec {
  const { drift: _, ...rest } = spec;
  return rest;
}

/** How a board of charts is drawn; kept in the address, or in this browser where the address is not ours. */
import { X_AXES, type XAxis } from "../../../lib/curves";
import { flag, oneOf, text } from "../../../lib/search";

export interface ChartSettings {
  x?: XAxis;
  /** Weight of what came before, in hundredths: 0 to 99. */
  smooth?: number;
  log?: true;
  /** Only charts whose key has this in it. */
  keys?: string;
}

/** Anything may stand in an address or in a browser's storage: what is not right is left out. */
export function readSettings(raw: Record<string, unknown>): ChartSettings {
  const smooth = Number(raw.smooth);
  return {
    x: oneOf(raw, "x", X_AXES),
    smooth: Number.isInteger(smooth) && smooth > 0 && smooth < 100 ? smooth : undefined,
    log: flag(raw, "log"),
    keys: text(raw, "keys"),
  };
}

/** What a tier gives, and what keeps a volume to it, in words. */
import type { Tier, Volume } from "../../../api/shapes";
import { formatRate } from "../../../lib/quantity";

const MECHANISMS: Record<string, string> = {
  blkio: "by blkio, for jobs here",
  "io.max": "by io.max, for jobs here",
  plugin: "by plug-in",
};

/** `4 × the standard tier, 400.0 MB/s`. */
export function tierWords({ throughput, rate }: Tier): string {
  return `${throughput} × the standard tier, ${rate == null ? "not limited" : formatRate(rate)}`;
}

/** `400.0 MB/s, enforced by blkio, for jobs here`; or why it is only told. */
export function enforcementWords({ tier_rate, tier_enforced }: Volume): string {
  const rate = tier_rate == null ? "not limited" : formatRate(tier_rate);
  if (!tier_enforced) return tier_rate == null ? rate : `${rate}, not enforced yet`;
  const { by, problem } = tier_enforced;
  const words = by === "none" ? "told only" : `enforced ${MECHANISMS[by] ?? by}`;
  return `${rate}, ${words}${problem ? `. ${problem}` : ""}`;
}

/** A volume's limits as a form holds them, what of it has changed, and the command that does the same. */
import type { Volume, VolumeChange } from "../../../api/shapes";
import { shellQuote } from "../../../lib/names";

const GB = 1e9;
const HOUR = 3600;

export interface VolumeDraft {
  capacityGb: number | string;
  reserveGb: number | string;
  idleHours: number | string;
  high: number | string;
  low: number | string;
  tier: string;
  throughput: number | string;
  price: number | string;
}

export function draftOf(volume: Volume): VolumeDraft {
  return {
    capacityGb: volume.capacity_bytes / GB,
    reserveGb: volume.reserve_bytes / GB,
    idleHours: volume.idle_seconds / HOUR,
    high: volume.high_percent,
    low: volume.low_percent,
    tier: volume.tier,
    throughput: volume.tier_throughput,
    price: volume.tier_price,
  };
}

/** Only what is another value than before: a size that was measured to the byte is not rounded by looking at it. */
export function changesOf(volume: Volume, draft: VolumeDraft): VolumeChange {
  const before = draftOf(volume);
  const changed = (field: keyof VolumeDraft) => draft[field] !== "" && draft[field] !== before[field];
  return {
    ...(changed("capacityGb") && { capacity_bytes: Math.round(Number(draft.capacityGb) * GB) }),
    ...(changed("reserveGb") && { reserve_bytes: Math.round(Number(draft.reserveGb) * GB) }),
    ...(changed("idleHours") && { idle_seconds: Math.round(Number(draft.idleHours) * HOUR) }),
    ...(changed("high") && { high_percent: Number(draft.high) }),
    ...(changed("low") && { low_percent: Number(draft.low) }),
    ...(changed("tier") && { tier: draft.tier }),
    ...(changed("throughput") && { tier_throughput: Number(draft.throughput) }),
    ...(changed("price") && { tier_price: Number(draft.price) }),
  };
}

export function commandLineOf(volume: Volume, draft: VolumeDraft): string {
  const asked = changesOf(volume, draft);
  const parts = [
    "mill volume set",
    shellQuote(volume.name),
    asked.capacity_bytes !== undefined && `--capacity ${draft.capacityGb}GB`,
    asked.reserve_bytes !== undefined && `--reserve ${draft.reserveGb}GB`,
    asked.idle_seconds !== undefined && `--idle ${draft.idleHours}h`,
    asked.high_percent !== undefined && `--high ${draft.high}`,
    asked.low_percent !== undefined && `--low ${draft.low}`,
    asked.tier !== undefined && `--tier ${shellQuote(draft.tier)}`,
    asked.tier_throughput !== undefined && `--tier-throughput ${draft.throughput}`,
    asked.tier_price !== undefined && `--tier-price ${draft.price}`,
  ];
  return parts.filter(Boolean).join(" ");
}

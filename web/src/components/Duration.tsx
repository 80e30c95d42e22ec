import { useNow } from "../hooks/useNow";
import { formatElapsed, formatSeconds } from "../lib/quantity";
import { secondsBetween } from "../lib/time";

/** How long something took, or has taken so far. */
export function Duration({ start, end }: { start: string | null; end: string | null }) {
  const now = useNow(start && !end ? 1_000 : 0);
  if (!start) return <>–</>;
  const seconds = secondsBetween(start, end, now);
  return <span className="unbroken">{end ? formatSeconds(seconds) : formatElapsed(seconds)}</span>;
}

/** What a volume would answer, in a few words. */
import type { CacheOffer } from "../../../api/shapes";
import { formatBytes, formatSeconds, plural } from "../../../lib/quantity";

export function wordsOf(offer: CacheOffer): string {
  if (offer.answer === "there") return "already cached";
  if (offer.answer === "coming") return "being cached there";
  if (offer.answer === "refused") return offer.reasons.join("; ");
  const time = offer.seconds == null ? "" : `, about ${formatSeconds(offer.seconds)}`;
  const fetched = `${formatBytes(offer.fetch_bytes)} to fetch${time}`;
  if (offer.answer === "fits") return `would fit: ${fetched}`;
  return `would evict ${evictedBy(offer)}: ${fetched}`;
}

function evictedBy({ evicted, evicts }: CacheOffer): string {
  const names = evicted.map((step) => `${step.dataset}@${step.commit_id.slice(0, 8)}`);
  const others = evicts - evicted.length;
  return [...names, ...(others > 0 ? [plural(others, "commit of others", "commits of others")] : [])].join(
    ", ",
  );
}

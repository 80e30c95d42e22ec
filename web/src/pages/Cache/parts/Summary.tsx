import { SimpleGrid, Skeleton } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import type { CacheUses } from "../../../api/shapes";
import { cachesSummaryQuery } from "../../../api/usage";
import { Tile } from "../../../components/Tile";
import { formatBytes, formatSeconds, plural } from "../../../lib/quantity";

/** What the caches were good for. */
export function Summary() {
  const { data, isError } = useQuery(cachesSummaryQuery);
  // The rest of the page works without these numbers, and says by itself when the server is away.
  if (isError && !data) return null;
  if (!data) return <Skeleton height={104} />;
  const { total, today } = data;
  return (
    <SimpleGrid cols={{ base: 2, lg: 4 }} data-testid="cache-summary">
      <Tile label="Hit rate" note={`${rateOf(today)} in the last 24 hours`}>
        {rateOf(total)}
      </Tile>
      <Tile
        label="Not fetched again"
        note={`${plural(total.hits, "hit")}, ${plural(total.misses, "miss", "misses")}`}
      >
        {formatBytes(total.saved_bytes)}
      </Tile>
      <Tile
        label="Time saved"
        note={`${plural(total.fills, "fill")} took ${formatSeconds(total.fill_seconds)}`}
      >
        {formatSeconds(total.saved_seconds)}
      </Tile>
      <Tile label="Free for commits" note={`${plural(data.cached_commits, "commit")} of yours cached`}>
        {formatBytes(data.free_bytes)}
      </Tile>
    </SimpleGrid>
  );
}

/** `83 %`; a dash while nobody asked for anything. */
export function rateOf({ hit_rate }: CacheUses): string {
  return hit_rate === null ? "–" : `${Math.round(100 * hit_rate)} %`;
}

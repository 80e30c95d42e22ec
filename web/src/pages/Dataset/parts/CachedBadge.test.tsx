import { afterEach, expect, it } from "vitest";
import { cachesOfDatasetQuery } from "../../../api/caches";
import { queries } from "../../../api/client";
import type { CachedCommit } from "../../../api/shapes";
import { aCached } from "../../../testing/builders";
import { showPage, signInAs } from "../../../testing/page";
import { CachedBadge } from "./CachedBadge";

const place = { project: "default", dataset: "digits" };
const HOUR = 3_600_000;

afterEach(() => queries.clear());

async function show(cached: CachedCommit) {
  signInAs();
  queries.setQueryData(cachesOfDatasetQuery(place).queryKey, { items: [cached], next: null });
  const badge = {
    cached_id: cached.id,
    volume: cached.volume,
    state: cached.state,
    bytes: cached.bytes,
    done_bytes: cached.done_bytes,
  };
  return showPage(<CachedBadge cached={badge} place={place} />);
}

it("says when it was used and when it goes", async () => {
  const used_at = new Date(Date.now() - 2 * HOUR).toISOString();
  const expires_at = new Date(Date.now() + 22.5 * HOUR).toISOString();
  const page = await show(aCached({ used_at, expires_at }));
  expect(page.getByTestId("cached-badge").textContent).toContain("used 2 hours ago, goes in 22 hours");
});

it("says what keeps it", async () => {
  const page = await show(aCached({ expires_at: null, kept_by: ["main"] }));
  expect(page.getByTestId("cached-badge").textContent).toContain("kept");
});

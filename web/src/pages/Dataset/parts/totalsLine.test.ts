import { expect, it } from "vitest";
import { totalsLine } from "./totalsLine";

it("is the header of the hub, word for word", () => {
  const totals = {
    datasets: 6,
    bytes: 290_200_000,
    volumes_connected: 3,
    cached_bytes: 1_070_000_000,
    volume_bytes: 360_770_000_000,
  };
  expect(totalsLine(totals)).toBe(
    "6 Datasets · 290.2 MB · 3 NFS Connected · 1.07/360.77 GB used by cached commits",
  );
});

import type { DatasetTotals } from "../../../api/shapes";
import { formatBytes, formatUsed, plural } from "../../../lib/quantity";

/** `6 Datasets · 290.2 MB · 3 NFS Connected · 1.07/360.77 GB used by cached commits` */
export function totalsLine(totals: DatasetTotals): string {
  return [
    plural(totals.datasets, "Dataset"),
    formatBytes(totals.bytes),
    `${totals.volumes_connected} NFS Connected`,
    `${formatUsed(totals.cached_bytes, totals.volume_bytes)} used by cached commits`,
  ].join(" · ");
}

/** What is said of links and places, the same in the drawing and in the lists. */
import type { Link, LinkPut, TopologyCompute, TopologyVolume } from "../../../api/shapes";
import { shellQuote } from "../../../lib/names";
import { formatBandwidth, formatBytes, formatGpus, formatRate, plural } from "../../../lib/quantity";

/** `10 Gbit/s, 0.5 ms`: what people said. */
export function declaredOf(link: Link | null): string {
  const said = [
    link?.bits_per_second != null && formatBandwidth(link.bits_per_second),
    link?.latency_ms != null && `${link.latency_ms} ms`,
  ].filter(Boolean);
  return said.join(", ") || "not declared";
}

/** `118.0 MB/s measured`: what fills brought. */
export function measuredOf(link: Link | null): string {
  return link?.measured_bytes_per_second == null
    ? "not measured yet"
    : `${formatRate(link.measured_bytes_per_second)} measured`;
}

export function stockOf({ volume }: TopologyVolume): string {
  if (!volume.connected) return "away";
  return `${formatBytes(volume.used_bytes)} used, ${formatBytes(volume.free_bytes)} free`;
}

export function fillsOf({ fills, fill_bytes_per_second }: TopologyVolume): string | null {
  if (fills === 0) return null;
  const speed = fill_bytes_per_second == null ? "" : `, ${formatRate(fill_bytes_per_second)}`;
  return `${plural(fills, "fill")}${speed}`;
}

export function strengthOf(compute: TopologyCompute): string {
  if (!compute.connected) return "away";
  const gpus =
    compute.gpus > 0 && `${formatGpus(compute.gpu_used_hundredths)}/${plural(compute.gpus, "GPU")}`;
  return [`${plural(compute.cpus, "CPU")}`, gpus, plural(compute.jobs, "job")].filter(Boolean).join(", ");
}

/** The command that says the same of a link. */
export function linkCommand(a: string, b: string, said: LinkPut): string {
  const parts = [
    "mill link set",
    shellQuote(a || "SITE"),
    shellQuote(b || "SITE"),
    said.bits_per_second && `--bandwidth ${formatBandwidth(said.bits_per_second).replace(" ", "")}`,
    said.latency_ms != null && `--latency ${said.latency_ms}ms`,
    said.price_per_gb != null && `--price-per-gb ${said.price_per_gb}`,
  ];
  return parts.filter(Boolean).join(" ");
}

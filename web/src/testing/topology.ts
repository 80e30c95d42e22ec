/** Places and ways between them, for tests. */
import type { Link, Topology, TopologyCompute, TopologyVolume } from "../api/shapes";
import { aVolume } from "./builders";

const TIME = "2026-11-15T12:00:00+00:00";

export function aLink(a: string, b: string, part: Partial<Link> = {}): Link {
  return {
    a,
    b,
    bits_per_second: null,
    latency_ms: null,
    price_per_gb: null,
    set_at: null,
    measured_bytes_per_second: null,
    measured_at: null,
    near: false,
    reason: "nothing is known of it",
    ...part,
  };
}

export function aVolumeAt(site: string, name: string, part: Partial<TopologyVolume> = {}): TopologyVolume {
  return {
    volume: aVolume({ id: name, name, site }),
    bandwidth: [],
    fills: 0,
    fill_bytes_per_second: null,
    ...part,
  };
}

export function aComputeAt(site: string, name: string, serves: string[] = []): TopologyCompute {
  return {
    name,
    site,
    driver: "process",
    connected: true,
    cpus: 8,
    memory_bytes: 1,
    gpus: 2,
    gpu_used_hundredths: 150,
    jobs: 3,
    volumes: serves.map((volume) => ({
      volume,
      near: true,
      seen: true,
      serves: true,
      reason: "same site",
    })),
  };
}

export function aTopology(names: string[], part: Partial<Topology> = {}): Topology {
  return {
    near_bits_per_second: 10_000_000_000,
    near_latency_ms: 5,
    sites: names.map((name) => ({ id: name, name, created_at: TIME, computes: 0, volumes: 0 })),
    links: [],
    volumes: [],
    computes: [],
    ...part,
  };
}

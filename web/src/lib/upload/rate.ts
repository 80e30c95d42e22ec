/** How fast something goes, over the last seconds rather than since its beginning. */

const WINDOW_MS = 10_000;

export interface Sample {
  readonly at: number;
  readonly bytes: number;
}

/** The samples that still matter, with a new one. The oldest kept is at least WINDOW_MS old, if there is such. */
export function withSample(samples: readonly Sample[], sample: Sample): Sample[] {
  const old = samples.filter((kept) => kept.at < sample.at - WINDOW_MS).at(-1);
  return [...(old ? [old] : []), ...samples.filter((kept) => kept.at >= sample.at - WINDOW_MS), sample];
}

/** Bytes a second; null while too little is known. */
export function rateOf(samples: readonly Sample[]): number | null {
  const [first, last] = [samples[0], samples.at(-1)];
  if (!first || !last || last.at - first.at < 500) return null;
  return (1000 * (last.bytes - first.bytes)) / (last.at - first.at);
}

export function secondsLeft(left: number, rate: number | null): number | null {
  return rate && rate > 0 ? left / rate : null;
}

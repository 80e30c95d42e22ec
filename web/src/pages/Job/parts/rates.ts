/** Sums that only grow, as what was added per second; nothing is known before the second sample. */
export function perSecond(seconds: readonly number[], sums: readonly number[]): (number | null)[] {
  return sums.map((sum, index) => {
    const before = sums[index - 1];
    const elapsed = (seconds[index] ?? 0) - (seconds[index - 1] ?? 0);
    // A job that was placed anew begins its sums at zero again.
    return before === undefined || elapsed <= 0 || sum < before ? null : (sum - before) / elapsed;
  });
}

/** Values that stand on each other: to each line, those before it are added. What is missing counts as nothing. */
export function stackOf(lines: readonly (readonly (number | null)[])[]): number[][] {
  const stacked: number[][] = [];
  for (const values of lines) {
    const below = stacked.at(-1);
    stacked.push(values.map((value, index) => (value ?? 0) + (below?.[index] ?? 0)));
  }
  return stacked;
}

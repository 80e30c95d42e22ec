/** Quantities as people read them: the same rounding, digit for digit, as the server's `model/quantity.py`. */

const UNITS = ["kB", "MB", "GB", "TB"] as const;

/** One decimal with ties to even, as Python prints it; a tie can only be a fraction of exactly .25 or .75. */
function oneDecimal(value: number): string {
  const whole = Math.floor(value);
  return value - whole === 0.25 ? `${whole}.2` : value.toFixed(1);
}

function roundHalfEven(value: number): number {
  const whole = Math.floor(value);
  if (value - whole !== 0.5) return Math.round(value);
  return whole % 2 === 0 ? whole : whole + 1;
}

/** `32.4 MB`: powers of ten, one decimal. */
export function formatBytes(count: number): string {
  if (count < 1000) return `${count} B`;
  let value = count;
  for (const unit of UNITS) {
    value /= 1000;
    if (value < 999.95) return `${oneDecimal(value)} ${unit}`;
  }
  return `${oneDecimal(value / 1000)} PB`;
}

/** `1.07/360.77 GB`: both in the unit of the whole, two decimals. */
export function formatUsed(used: number, whole: number): string {
  let size = 1;
  let unit = "B";
  for (const larger of [...UNITS, "PB"]) {
    if (whole < size * 1000) break;
    size *= 1000;
    unit = larger;
  }
  const digits = size === 1 ? 0 : 2;
  return `${(used / size).toFixed(digits)}/${(whole / size).toFixed(digits)} ${unit}`;
}

/** `118.0 MB/s` */
export function formatRate(bytesPerSecond: number): string {
  return `${formatBytes(Math.round(bytesPerSecond))}/s`;
}

const BIT_UNITS = [
  ["Tbit/s", 1e12],
  ["Gbit/s", 1e9],
  ["Mbit/s", 1e6],
  ["kbit/s", 1e3],
] as const;

/** `10 Gbit/s`, as links are known by. */
export function formatBandwidth(bitsPerSecond: number): string {
  for (const [unit, size] of BIT_UNITS) {
    if (bitsPerSecond >= size) return `${Number((bitsPerSecond / size).toPrecision(4))} ${unit}`;
  }
  return `${bitsPerSecond} bit/s`;
}

/** `0.4 s`, `33 m 54 s`, `2 h 5 m`, `3 d 4 h`. */
export function formatSeconds(seconds: number): string {
  if (seconds < 60) return `${oneDecimal(seconds)} s`;
  const whole = roundHalfEven(seconds);
  const scales = [
    ["d", 86_400, "h", 3600],
    ["h", 3600, "m", 60],
    ["m", 60, "s", 1],
  ] as const;
  for (const [unit, size, lower, lowerSize] of scales) {
    if (whole < size) continue;
    const rest = Math.floor((whole % size) / lowerSize);
    const main = `${Math.floor(whole / size)} ${unit}`;
    return rest ? `${main} ${rest} ${lower}` : main;
  }
  return `${whole} s`;
}

/** Time that still runs: whole seconds, since tenths would only flicker. */
export function formatElapsed(seconds: number): string {
  const whole = Math.floor(seconds);
  return whole < 60 ? `${whole} s` : formatSeconds(whole);
}

/** GPUs are whole hundredths on the wire: 50 is `0.5`. */
export function formatGpus(hundredths: number): string {
  return String(hundredths / 100);
}

/** GPUs as a number that was summed: `7.5`, never `7.499999`. */
export function roundGpus(gpus: number): string {
  return String(Math.round(gpus * 100) / 100);
}

/** `1 commit`, `4 commits`. */
export function plural(count: number, one: string, many = `${one}s`): string {
  return `${count.toLocaleString("en")} ${count === 1 ? one : many}`;
}

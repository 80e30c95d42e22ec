/** Times that people choose from, and how the command line takes them. */
const HOUR = 3600;
const DAY = 24 * HOUR;

export const IDLE_TIMES = [
  [HOUR, "1 hour"],
  [8 * HOUR, "8 hours"],
  [DAY, "1 day"],
  [3 * DAY, "3 days"],
  [7 * DAY, "1 week"],
  [30 * DAY, "30 days"],
] as const;

export const HOLD_TIMES = [
  [HOUR, "1 hour"],
  [8 * HOUR, "8 hours"],
  [DAY, "1 day"],
  [7 * DAY, "1 week"],
] as const;

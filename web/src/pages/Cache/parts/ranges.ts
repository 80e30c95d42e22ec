/** How far back the charts of a volume reach. */
export const USAGE_RANGES = ["day", "week", "quarter"] as const;
export type UsageRange = (typeof USAGE_RANGES)[number];

const DAY = 86_400;

export const RANGE_SECONDS: Record<UsageRange, number> = { day: DAY, week: 7 * DAY, quarter: 90 * DAY };
export const RANGE_WORDS: Record<UsageRange, string> = { day: "Day", week: "Week", quarter: "90 days" };
/** As `mill volume usage --last` takes them. */
export const RANGE_OPTIONS: Record<UsageRange, string> = { day: "1d", week: "7d", quarter: "90d" };

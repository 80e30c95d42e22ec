/** How often a source or mirror may run, in seconds. */
export const EVERY = [
  { value: "900", label: "15 minutes" },
  { value: "3600", label: "hour" },
  { value: "21600", label: "6 hours" },
  { value: "86400", label: "day" },
  { value: "604800", label: "week" },
];

import { Text, Tooltip } from "@mantine/core";
import { useNow } from "../hooks/useNow";
import { formatAbsolute, formatRelative } from "../lib/time";

const RENEW_MS = 15_000;

/** A time relative to now; the exact one, in the viewer's zone, on hover or focus. */
export function Time({ at, prefix = "" }: { at: string | null | undefined; prefix?: string }) {
  useNow(RENEW_MS);
  if (!at) return <>–</>;
  const time = new Date(at);
  // Of this very moment: to a clock of some seconds ago, what has just happened would be to come.
  const now = new Date();
  return (
    <Tooltip label={formatAbsolute(time)} events={{ hover: true, focus: true, touch: true }}>
      <Text component="time" dateTime={at} inherit style={{ whiteSpace: "nowrap" }}>
        {prefix}
        {formatRelative(time, now)}
      </Text>
    </Tooltip>
  );
}

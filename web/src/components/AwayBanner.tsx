import { Alert } from "@mantine/core";
import { IconPlugConnectedX } from "@tabler/icons-react";
import { useSyncExternalStore } from "react";
import { isReachable, onReachChange } from "../lib/reach";

/** Says that the server does not answer, for as long as it does not. */
export function AwayBanner() {
  const reachable = useSyncExternalStore(onReachChange, isReachable);
  if (reachable) return null;
  return (
    <Alert
      role="alert"
      color="orange"
      icon={<IconPlugConnectedX />}
      mb="md"
      title="The server does not answer"
    >
      What you see may be old. The page tries again every few seconds; running jobs go on without it.
    </Alert>
  );
}

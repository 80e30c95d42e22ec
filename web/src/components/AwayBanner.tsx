import { Alert } from "@mantine/core";
import { IconPlugConnectedX } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";
import { useSyncExternalStore } from "react";
import { healthQuery } from "../api/health";
import { isReachable, onReachChange } from "../lib/reach";

/** Says that the server does not answer, for as long as it does not. One that tells why has a banner of its own. */
export function AwayBanner() {
  const reachable = useSyncExternalStore(onReachChange, isReachable);
  const health = useQuery(healthQuery);
  if (reachable || (health.isSuccess && health.data.status !== "ready")) return null;
  return (
    <Alert
      role="alert"
      color="orange"
      icon={<IconPlugConnectedX />}
      mb="md"
      title={navigator.onLine ? "Cannot reach the server" : "You are offline"}
    >
      This page may be out of date. Retrying every few seconds; running jobs are not affected.
    </Alert>
  );
}

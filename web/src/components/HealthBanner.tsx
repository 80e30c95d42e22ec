import { Alert } from "@mantine/core";
import { IconAlertTriangle } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";
import { healthQuery } from "../api/health";

/** Says which part the server cannot use now, for as long as that lasts. */
export function HealthBanner() {
  const health = useQuery(healthQuery).data;
  const unwell = health?.parts.filter((part) => !part.ok) ?? [];
  if (!health || unwell.length === 0) return null;
  return (
    <Alert role="alert" color="orange" icon={<IconAlertTriangle />} mb="md" title={title(health.status)}>
      {unwell.map((part) => part.message).join(" ")} It continues by itself; running jobs are not affected.
    </Alert>
  );
}

function title(status: string): string {
  return status === "unavailable" ? "The server is unavailable" : "The server is degraded";
}

import { Alert } from "@mantine/core";
import { IconShieldExclamation } from "@tabler/icons-react";
import { useState } from "react";
import { useSession } from "../api/session";

/** What administrators should know of how their server is reached; until they close it, or load the page again. */
export function WarningBanner() {
  const warnings = useSession()?.warnings ?? [];
  const [closed, setClosed] = useState(false);
  if (closed || warnings.length === 0) return null;
  return (
    <Alert
      role="alert"
      color="orange"
      icon={<IconShieldExclamation />}
      mb="md"
      title="This server is not encrypted"
      withCloseButton
      closeButtonLabel="Close this warning"
      onClose={() => setClosed(true)}
    >
      {warnings.join(" ")} Only administrators see this. What to do: <code>mill doctor</code>
    </Alert>
  );
}

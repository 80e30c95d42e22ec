import { Alert, Anchor, Button, Stack, Text } from "@mantine/core";
import { IconAlertTriangle } from "@tabler/icons-react";
import { ApiError } from "../api/problem";
import { docsAddress } from "../lib/base";

/** What went wrong, what to do now, and the id by which the server's log knows it. */
export function ErrorNotice({ error, retry }: { error: unknown; retry?: () => void }) {
  const known = error instanceof ApiError ? error : null;
  return (
    <Alert
      role="alert"
      color="red"
      variant="light"
      icon={<IconAlertTriangle />}
      title={error instanceof Error ? error.message : "Something went wrong."}
    >
      <Stack gap="xs" align="flex-start">
        {known?.hint && <Text size="sm">{known.hint}</Text>}
        {known?.requestId && (
          <Text size="xs" c="dimmed">
            Request <span className="mono">{known.requestId}</span> ·{" "}
            <Anchor href={docsAddress(`reference/errors/#${known.code}`)} target="_blank" size="xs">
              About {known.code}
            </Anchor>
          </Text>
        )}
        {retry && known?.status !== 403 && (
          <Button size="xs" variant="default" onClick={retry}>
            Try again
          </Button>
        )}
      </Stack>
    </Alert>
  );
}

import { Button, Checkbox, Group, Stack, Text } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { notifications } from "@mantine/notifications";
import { useState } from "react";
import { useDeleteConnection, useTestConnection } from "../../../api/connections";
import type { Connection, ConnectionTest, Role } from "../../../api/shapes";
import { ConfirmByName } from "../../../components/ConfirmByName";
import { notifyDone, tell } from "../../../components/notify";

export function ConnectionActions({ connection, role }: { connection: Connection; role: Role }) {
  const test = useTestConnection(connection.project);
  const remove = useDeleteConnection(connection.project);
  const [removing, dialog] = useDisclosure(false);
  const [force, setForce] = useState(false);
  if (role === "viewer") return null;
  return (
    <Group gap="xs" wrap="nowrap">
      <Button
        size="compact-sm"
        variant="default"
        aria-label={`Test ${connection.name}`}
        loading={test.isPending}
        onClick={() => tell(test.mutateAsync(connection.name), (found) => say(connection.name, found))}
      >
        Test
      </Button>
      {role === "admin" && (
        <Button
          size="compact-sm"
          variant="default"
          aria-label={`Remove ${connection.name}`}
          onClick={dialog.open}
        >
          Remove
        </Button>
      )}
      <ConfirmByName
        opened={removing}
        onClose={dialog.close}
        title={`Remove ${connection.name}?`}
        name={connection.name}
        explanation={
          <Stack gap="xs" component="span">
            <span>Nothing at {connection.url} changes.</span>
            <Checkbox
              label="Remove even if commits use it. Their imported files are unreadable until you add it again."
              checked={force}
              onChange={(event) => setForce(event.currentTarget.checked)}
            />
          </Stack>
        }
        action="Remove it"
        onConfirm={() => remove.mutate({ connection: connection.name, force }, { onSuccess: dialog.close })}
        busy={remove.isPending}
        error={remove.error}
      />
    </Group>
  );
}

function say(name: string, found: ConnectionTest): void {
  if (found.works) {
    notifyDone([`${name} works.`, ...(found.objects ?? []).slice(0, 3)].join(" "));
    return;
  }
  notifications.show({
    color: "red",
    title: `${name} does not work.`,
    message: (
      <Text size="sm">
        {found.problem} {found.hint}
      </Text>
    ),
    autoClose: 12_000,
    closeButtonProps: { "aria-label": "Close" },
  });
}

/** A webhook's secret: made here, shown once, with a call to copy. */
import { Alert, Button, Code, Group, Modal, Stack, Text } from "@mantine/core";
import { IconKey } from "@tabler/icons-react";
import { useState } from "react";
import { useNewSecret } from "../../../api/flowTriggers";
import type { FlowTrigger } from "../../../api/shapes";
import { CommandLine, CopyIcon } from "../../../components/Copyable";
import { ErrorNotice } from "../../../components/ErrorNotice";

export function WebhookSecret({ project, trigger }: { project: string; trigger: FlowTrigger }) {
  const [opened, setOpened] = useState(false);
  const make = useNewSecret({ project, flow: trigger.flow, trigger: trigger.id });
  const close = () => {
    setOpened(false);
    make.reset();
  };
  return (
    <>
      <Button size="xs" variant="default" leftSection={<IconKey size={14} />} onClick={() => setOpened(true)}>
        {trigger.has_secret ? "Call it" : "Make its secret"}
      </Button>
      <Modal
        opened={opened}
        onClose={close}
        size="xl"
        title={trigger.title}
        closeButtonProps={{ "aria-label": "Close" }}
      >
        <Stack>
          {make.data ? (
            <Alert color="green" title="The secret is shown only now">
              <Group gap="xs" wrap="nowrap">
                <Code style={{ overflowWrap: "anywhere" }}>{make.data.secret}</Code>
                <CopyIcon value={make.data.secret} label="Copy the secret" />
              </Group>
            </Alert>
          ) : (
            <>
              <Text size="sm">
                {trigger.has_secret
                  ? "Calls are signed with its secret, which was shown when it was made. A new one makes the old one useless."
                  : "Calls are signed with a secret. Make one to use the webhook."}
              </Text>
              <Group>
                <Button loading={make.isPending} onClick={() => make.mutate()}>
                  {trigger.has_secret ? "Make a new secret" : "Make a secret"}
                </Button>
              </Group>
            </>
          )}
          {make.error != null && <ErrorNotice error={make.error} />}
          <Text size="sm" fw={600}>
            Call it from a shell
          </Text>
          <CommandLine command={callOf(trigger.url ?? "")} />
        </Stack>
      </Modal>
    </>
  );
}

/** The signature is the HMAC-SHA256 of time, dot and body. */
function callOf(url: string): string {
  return [
    "SECRET=…            # the secret of the webhook",
    "BODY='{\"params\": {}}'",
    "TIME=$(date +%s)",
    'SIGN=$(printf "%s.%s" "$TIME" "$BODY" | openssl dgst -sha256 -hmac "$SECRET" -r | cut -d" " -f1)',
    `curl -X POST '${url}' \\`,
    '  -H "X-Mill-Timestamp: $TIME" -H "X-Mill-Signature: sha256=$SIGN" -d "$BODY"',
  ].join("\n");
}

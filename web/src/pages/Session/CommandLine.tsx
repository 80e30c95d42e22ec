import { Alert, Button, Center, Code, Group, Paper, Stack, Text } from "@mantine/core";
import { IconTerminal2 } from "@tabler/icons-react";
import { getRouteApi } from "@tanstack/react-router";
import { useSession } from "../../api/session";
import { useGrantLogin } from "../../api/signIn";
import { ErrorNotice } from "../../components/ErrorNotice";
import { PageHeader } from "../../components/PageHeader";

const route = getRouteApi("/in/command-line");

/** Lets a command line on this machine act as the viewer: its port gets a code that it redeems. */
export function AllowCommandLine() {
  const { port, challenge, state, machine } = route.useSearch();
  const user = useSession()?.user.name;
  const grant = useGrantLogin();
  if (!port || port > 65_535 || !challenge || !state) {
    return (
      <Alert color="orange" title="This address is incomplete.">
        Run <Code>mill login</Code> again.
      </Alert>
    );
  }
  const answer = (query: Record<string, string>) =>
    window.location.assign(`http://127.0.0.1:${port}/?${new URLSearchParams({ ...query, state })}`);
  const allow = () =>
    grant.mutate(
      { machine: machine ?? "", challenge },
      { onSuccess: (granted) => answer({ code: granted.code }) },
    );
  return (
    <Center>
      <Paper withBorder p="xl" maw={520}>
        <Stack>
          <PageHeader title="Sign in a command line" />
          <Group wrap="nowrap" align="flex-start">
            <IconTerminal2 aria-hidden />
            <Text>
              <Code>mill</Code> on {machine ? <b>{machine}</b> : "this machine"} asks to act as <b>{user}</b>.
              It gets a token of yours for 90 days.
            </Text>
          </Group>
          <Text size="sm" c="dimmed">
            Allow it only if you have just run <Code>mill login</Code> on the machine in front of you.
          </Text>
          {grant.error && <ErrorNotice error={grant.error} />}
          <Group justify="flex-end">
            <Button variant="default" onClick={() => answer({ error: "denied" })}>
              Deny
            </Button>
            <Button onClick={allow} loading={grant.isPending || grant.isSuccess}>
              Allow
            </Button>
          </Group>
        </Stack>
      </Paper>
    </Center>
  );
}

import { Alert, Button, Center, Code, Group, Paper, Stack, Text, TextInput } from "@mantine/core";
import { IconCircleCheck, IconCircleX } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";
import { getRouteApi, useNavigate } from "@tanstack/react-router";
import { type FormEvent, useState } from "react";
import { useSession } from "../../api/session";
import { deviceLoginQuery, useAnswerDevice } from "../../api/signIn";
import { ErrorNotice } from "../../components/ErrorNotice";
import { Facts } from "../../components/Facts";
import { PageHeader } from "../../components/PageHeader";
import { Time } from "../../components/Time";

const route = getRouteApi("/in/device");

/** Confirms the code that a command line on another machine shows. */
export function Device() {
  const { code } = route.useSearch();
  const navigate = useNavigate();
  const ask = (typed?: string) => navigate({ to: "/device", search: { code: typed } });
  return (
    <Center>
      <Paper withBorder p="xl" w={520} maw="100%">
        <PageHeader title="Sign in a command line" />
        {code ? <Confirm code={code} onAgain={() => ask()} /> : <Enter onCode={(typed) => ask(typed)} />}
      </Paper>
    </Center>
  );
}

function Enter({ onCode }: { onCode: (code: string) => void }) {
  const [typed, setTyped] = useState("");
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (typed.trim()) onCode(typed.trim());
  };
  return (
    <form onSubmit={submit}>
      <Stack>
        <TextInput
          label="Code"
          description="As mill login shows it, like BCDF-GHJK"
          autoComplete="off"
          required
          data-autofocus
          value={typed}
          onChange={(event) => setTyped(event.currentTarget.value)}
        />
        <Button type="submit">Continue</Button>
      </Stack>
    </form>
  );
}

function Confirm({ code, onAgain }: { code: string; onAgain: () => void }) {
  const found = useQuery(deviceLoginQuery(code));
  const answer = useAnswerDevice();
  const user = useSession()?.user.name;
  if (answer.data) {
    const confirmed = answer.variables?.confirm;
    return (
      <Alert
        role="status"
        color={confirmed ? "green" : "gray"}
        icon={confirmed ? <IconCircleCheck /> : <IconCircleX />}
        title={confirmed ? "The command line is signed in." : "Denied."}
      >
        {confirmed ? "You can close this page." : "The command line gets nothing."}
      </Alert>
    );
  }
  if (found.isError) {
    return (
      <Stack>
        <ErrorNotice error={found.error} />
        <Button variant="default" onClick={onAgain}>
          Enter another code
        </Button>
      </Stack>
    );
  }
  if (!found.data) return null;
  return (
    <Stack>
      <Text>
        <Code>mill</Code> with the code <b className="mono">{found.data.user_code}</b> asks to act as{" "}
        <b>{user}</b>. It gets a token of yours for 90 days.
      </Text>
      <Facts
        facts={[
          { name: "Machine", value: found.data.machine },
          { name: "Address", value: found.data.address },
          { name: "Asked", value: <Time at={found.data.created_at} /> },
        ]}
      />
      <Alert color="orange" title="Confirm only a code that you see on your own terminal.">
        Whoever sends you a code wants to act as you.
      </Alert>
      {answer.error && <ErrorNotice error={answer.error} />}
      <Group justify="flex-end">
        <Button variant="default" onClick={() => answer.mutate({ code, confirm: false })}>
          Deny
        </Button>
        <Button onClick={() => answer.mutate({ code, confirm: true })} loading={answer.isPending}>
          Confirm
        </Button>
      </Group>
    </Stack>
  );
}

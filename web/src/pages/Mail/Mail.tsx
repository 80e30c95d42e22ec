import { Button, Group, Paper, Stack, Text, TextInput } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { IconMail } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { smtpQuery, useRemoveSmtp, useTestSmtp } from "../../api/notifications";
import { isNotFound } from "../../api/problem";
import { useSession } from "../../api/session";
import type { Smtp } from "../../api/shapes";
import { EmptyState } from "../../components/EmptyState";
import { Facts } from "../../components/Facts";
import { Loaded } from "../../components/Loaded";
import { notifyDone, notifyWarning, tell } from "../../components/notify";
import { PageHeader } from "../../components/PageHeader";
import { Section } from "../../components/Section";
import { Time } from "../../components/Time";
import { EditSmtp } from "./EditSmtp";

/** The mail server that notifications are sent by. */
export function MailPage() {
  const result = useQuery(smtpQuery);
  const [editing, dialog] = useDisclosure(false);
  const isMissing = isNotFound(result.error);
  const change = <Button onClick={dialog.open}>{isMissing ? "Set a mail server" : "Change"}</Button>;
  return (
    <>
      <PageHeader
        title="E-mail"
        below={<Text c="dimmed">The mail server that notifications are sent by.</Text>}
        actions={result.data && change}
      />
      {isMissing ? (
        <EmptyState
          icon={IconMail}
          sentence="This server sends no e-mail yet. Set the mail server that notifications are sent by."
          action={change}
          command="mill notification smtp set smtp.example.org --from millpond@example.org"
        />
      ) : (
        <Loaded result={result}>{(found) => <Settings smtp={found} />}</Loaded>
      )}
      {editing && <EditSmtp before={isMissing ? undefined : result.data} onClose={dialog.close} />}
    </>
  );
}

const TLS = { starttls: "STARTTLS", tls: "TLS from the beginning", none: "not encrypted" };

function Settings({ smtp }: { smtp: Smtp }) {
  const remove = useRemoveSmtp();
  return (
    <Stack gap="lg">
      <Paper withBorder p="md">
        <Facts
          facts={[
            { name: "Host", value: `${smtp.host}:${smtp.port}` },
            { name: "Connection", value: TLS[smtp.tls] },
            { name: "From", value: smtp.sender },
            { name: "User", value: smtp.user ?? "none" },
            { name: "E-mail goes to", value: smtp.domains.length ? smtp.domains.join(", ") : "any domain" },
            { name: "Set", value: <Time at={smtp.set_at} prefix={`by ${smtp.set_by} `} /> },
          ]}
        />
      </Paper>
      <Try />
      <Group>
        <Button
          variant="default"
          loading={remove.isPending}
          onClick={() => tell(remove.mutateAsync(), () => notifyDone("Mail server removed."))}
        >
          Remove the mail server
        </Button>
      </Group>
    </Stack>
  );
}

function Try() {
  const own = useSession()?.user.email ?? "";
  const [to, setTo] = useState(own);
  const test = useTestSmtp();
  const send = () =>
    tell(test.mutateAsync(to), ({ works, problem, hint }) =>
      works
        ? notifyDone(`The mail server took the test message to ${to}.`)
        : notifyWarning([problem, hint].filter(Boolean).join(" ")),
    );
  return (
    <Section title="Test">
      <form
        onSubmit={(event) => {
          event.preventDefault();
          void send();
        }}
      >
        <Group p="md" align="flex-end">
          <TextInput
            label="Send a test message to"
            placeholder="ada@example.org"
            required
            value={to}
            onChange={({ currentTarget }) => setTo(currentTarget.value)}
          />
          <Button type="submit" variant="default" loading={test.isPending}>
            Send
          </Button>
        </Group>
      </form>
    </Section>
  );
}

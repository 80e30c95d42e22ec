import { Alert, Button, Code, Group, Modal, SegmentedControl, Stack, Text, TextInput } from "@mantine/core";
import { useForm } from "@mantine/form";
import { useState } from "react";
import { useAddChannel } from "../../api/notifications";
import { useSession } from "../../api/session";
import { CopyIcon } from "../Copyable";
import { ErrorNotice } from "../ErrorNotice";
import { notifyDone } from "../notify";

const TYPES = [
  { value: "email", label: "E-mail" },
  { value: "webhook", label: "Webhook" },
];

interface Props {
  project?: string;
  onClose: () => void;
}

export function NewChannel({ project, onClose }: Props) {
  const [secret, setSecret] = useState<string | null>(null);
  return (
    <Modal opened onClose={onClose} title="New channel" closeButtonProps={{ "aria-label": "Close" }}>
      {secret === null ? (
        <Form project={project} onClose={onClose} onSecret={setSecret} />
      ) : (
        <Secret secret={secret} onClose={onClose} />
      )}
    </Modal>
  );
}

interface Draft {
  type: string;
  name: string;
  to: string;
}

function Form({ project, onClose, onSecret }: Props & { onSecret: (secret: string) => void }) {
  const add = useAddChannel(project);
  const own = useSession()?.user.email ?? "";
  const form = useForm<Draft>({ initialValues: { type: "email", name: "", to: project ? "" : own } });
  const isEmail = form.values.type === "email";
  const submit = form.onSubmit(({ type, name, to }) =>
    add.mutate(type === "email" ? { name, email: to } : { name, webhook: to }, {
      onSuccess: (made) => {
        notifyDone(`Channel ${made.name} added. Test it.`);
        if (made.secret) onSecret(made.secret);
        else onClose();
      },
    }),
  );
  return (
    <form onSubmit={submit}>
      <Stack>
        <SegmentedControl
          aria-label="Type"
          data={TYPES}
          value={form.values.type}
          onChange={(type) => form.setValues({ type, to: type === "email" && !project ? own : "" })}
        />
        <TextInput
          label="Name"
          description="Like mail or team-chat"
          required
          data-autofocus
          autoComplete="off"
          {...form.getInputProps("name")}
        />
        <TextInput
          label={isEmail ? "Address" : "URL"}
          placeholder={isEmail ? "ada@example.org" : "https://hooks.example.org/millpond"}
          description={isEmail ? undefined : "Gets signed JSON. It is kept encrypted and not shown again."}
          required
          autoComplete="off"
          {...form.getInputProps("to")}
        />
        {add.error && <ErrorNotice error={add.error} />}
        <Button type="submit" loading={add.isPending}>
          Add
        </Button>
      </Stack>
    </form>
  );
}

function Secret({ secret, onClose }: { secret: string; onClose: () => void }) {
  return (
    <Stack>
      <Alert color="yellow" title="Copy the secret now">
        It is not shown again. What receives the messages checks their header X-Mill-Signature with it.
      </Alert>
      <Group gap={4} wrap="nowrap">
        <Code block style={{ overflowWrap: "anywhere", whiteSpace: "pre-wrap" }}>
          {secret}
        </Code>
        <CopyIcon value={secret} label="Copy the secret" />
      </Group>
      <Text size="sm">
        HMAC-SHA256 of <Code>X-Mill-Timestamp</Code>, a dot and the body.
      </Text>
      <Button onClick={onClose}>Done</Button>
    </Stack>
  );
}

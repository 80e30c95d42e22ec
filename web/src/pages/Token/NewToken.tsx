import { Alert, Button, Modal, MultiSelect, Select, Stack, TextInput } from "@mantine/core";
import { useForm } from "@mantine/form";
import { IconAlertTriangle } from "@tabler/icons-react";
import type { TokenScope } from "../../api/shapes";
import { useCreateToken } from "../../api/tokens";
import { CommandLine } from "../../components/Copyable";
import { ErrorNotice } from "../../components/ErrorNotice";

const DAY = 86_400;
const LIVES = [
  { value: String(7 * DAY), label: "7 days" },
  { value: String(90 * DAY), label: "90 days" },
  { value: String(365 * DAY), label: "1 year" },
  { value: "never", label: "Never" },
];

const SCOPES = [
  { value: "read", label: "read: everything that changes nothing" },
  { value: "data", label: "data: datasets, caches, workspaces" },
  { value: "submit", label: "submit: jobs, flows, endpoints, runs" },
];

/** Makes a token and shows its secret this once. */
export function NewToken({ onClose }: { onClose: () => void }) {
  const create = useCreateToken();
  const form = useForm({ initialValues: { name: "", life: String(90 * DAY), scopes: [] as TokenScope[] } });
  const submit = form.onSubmit(({ name, life, scopes }) =>
    create.mutate({
      name,
      expires_seconds: life === "never" ? null : Number(life),
      scopes: scopes.length > 0 ? scopes : null,
    }),
  );
  return (
    <Modal opened onClose={onClose} title="New token" size="lg" closeButtonProps={{ "aria-label": "Close" }}>
      {create.data ? (
        <Stack>
          <Alert
            color="orange"
            icon={<IconAlertTriangle />}
            title="Copy the token now. It is not shown again."
          >
            Treat it like a password.
          </Alert>
          <CommandLine command={create.data.secret} />
          <Button onClick={onClose}>Done</Button>
        </Stack>
      ) : (
        <form onSubmit={submit}>
          <Stack>
            <TextInput
              label="Name"
              required
              data-autofocus
              autoComplete="off"
              {...form.getInputProps("name")}
            />
            <Select
              label="Expires after"
              data={LIVES}
              allowDeselect={false}
              {...form.getInputProps("life")}
            />
            <MultiSelect
              label="Scopes"
              description="What it may be used for; none for everything you may do"
              data={SCOPES}
              {...form.getInputProps("scopes")}
            />
            {create.error && <ErrorNotice error={create.error} />}
            <Button type="submit" loading={create.isPending}>
              Create
            </Button>
          </Stack>
        </form>
      )}
    </Modal>
  );
}

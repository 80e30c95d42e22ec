import {
  Button,
  Checkbox,
  Group,
  Modal,
  PasswordInput,
  SegmentedControl,
  Stack,
  Textarea,
  TextInput,
} from "@mantine/core";
import { useForm } from "@mantine/form";
import { useAddConnection } from "../../../api/connections";
import type { ConnectionCreate } from "../../../api/shapes";
import { ErrorNotice } from "../../../components/ErrorNotice";
import { connectionCommand } from "./commands";
import { type ConnectionDraft, connectionOf, EMPTY_DRAFT, KINDS } from "./connectionDraft";
import { SameOnCommandLine } from "./SameOnCommandLine";

/** Secrets are sent once, sealed by the server, and never come back. */
export function NewConnection({ project, onClose }: { project: string; onClose: () => void }) {
  const add = useAddConnection(project);
  const form = useForm<ConnectionDraft>({ initialValues: EMPTY_DRAFT });
  const send = (draft: ConnectionDraft) =>
    add.mutate(connectionOf(draft) as ConnectionCreate, { onSuccess: onClose });
  const kind = form.values.kind;
  return (
    <Modal
      opened
      onClose={onClose}
      title="New connection"
      size="lg"
      closeButtonProps={{ "aria-label": "Close" }}
    >
      <form onSubmit={form.onSubmit(send)} autoComplete="off">
        <Stack>
          <SegmentedControl data={KINDS} aria-label="Kind of place" {...form.getInputProps("kind")} />
          <TextInput label="Name" required data-autofocus {...form.getInputProps("name")} />
          <TextInput
            label={kind === "https" ? "Address" : "Bucket and prefix"}
            description={`It leads to everything below, like ${EXAMPLES[kind]}`}
            required
            {...form.getInputProps("url")}
          />
          {kind === "s3" && (
            <>
              <Group grow align="flex-start">
                <TextInput label="Endpoint" placeholder="Amazon S3" {...form.getInputProps("endpoint")} />
                <TextInput label="Region" placeholder="us-east-1" {...form.getInputProps("region")} />
              </Group>
              <Group grow align="flex-start">
                <TextInput label="Access key id" {...form.getInputProps("keyId")} />
                <PasswordInput
                  label="Secret key"
                  autoComplete="new-password"
                  {...form.getInputProps("secret")}
                />
              </Group>
            </>
          )}
          {kind === "gs" && (
            <Textarea
              label="Service account key"
              description="JSON key file from Google Cloud"
              required
              rows={4}
              {...form.getInputProps("secret")}
            />
          )}
          {kind === "https" && (
            <Group grow align="flex-start">
              <TextInput
                label="User"
                placeholder="leave empty for a bearer token"
                {...form.getInputProps("user")}
              />
              <PasswordInput
                label="Password or token"
                autoComplete="new-password"
                {...form.getInputProps("secret")}
              />
            </Group>
          )}
          {kind === "s3" && (
            <Checkbox
              label="Members may write there with mill move"
              {...form.getInputProps("writable", { type: "checkbox" })}
            />
          )}
          {add.error && <ErrorNotice error={add.error} />}
          <Button type="submit" loading={add.isPending}>
            Add
          </Button>
          <SameOnCommandLine command={connectionCommand(project, form.values)} />
        </Stack>
      </form>
    </Modal>
  );
}

const EXAMPLES = {
  s3: "s3://archive/scans",
  gs: "gs://archive/scans",
  https: "https://files.example.com/data",
};

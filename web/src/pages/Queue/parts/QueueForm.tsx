import { Button, Input, Modal, Stack, Text, TextInput } from "@mantine/core";
import { useForm } from "@mantine/form";
import { useQuery } from "@tanstack/react-query";
import { templatesQuery } from "../../../api/templates";
import { CommandLine } from "../../../components/Copyable";
import { ErrorNotice } from "../../../components/ErrorNotice";
import { commandLineOf, entriesProblem, type QueueDraft } from "./draft";
import { Entries } from "./Entries";

interface Props {
  /** True for a queue that does not exist yet. */
  isNew: boolean;
  before: QueueDraft;
  busy: boolean;
  error: unknown;
  onSubmit: (draft: QueueDraft) => void;
  onClose: () => void;
}

/** Creates or changes a queue: templates in the order they are tried, and how long each is waited for. */
export function QueueForm({ isNew, before, busy, error, onSubmit, onClose }: Props) {
  const templates = useQuery(templatesQuery).data?.items.map(({ name }) => name) ?? [];
  const form = useForm<QueueDraft>({ initialValues: before, validate: { entries: entriesProblem } });
  const command = commandLineOf(isNew ? "create" : "update", form.values, before.description);
  return (
    <Modal
      opened
      onClose={onClose}
      size="lg"
      title={isNew ? "New queue" : `Edit ${before.name}`}
      closeButtonProps={{ "aria-label": "Close" }}
    >
      <form onSubmit={form.onSubmit(onSubmit)}>
        <Stack>
          {isNew && (
            <TextInput
              label="Name"
              placeholder="burst"
              required
              data-autofocus
              autoComplete="off"
              {...form.getInputProps("name")}
            />
          )}
          <TextInput label="Description" {...form.getInputProps("description")} />
          <Text size="sm" c="dimmed">
            A job starts on the first template with room. After waiting as long as its patience says, like 10m
            or 1h, the job tries the next one as well.
          </Text>
          <Entries
            entries={form.values.entries}
            templates={templates}
            onChange={(entries) => form.setFieldValue("entries", entries)}
          />
          {form.errors.entries && <Input.Error role="alert">{form.errors.entries}</Input.Error>}
          {error != null && <ErrorNotice error={error} />}
          <CommandLine command={command} wrap />
          <Button type="submit" loading={busy}>
            {isNew ? "Create" : "Save"}
          </Button>
        </Stack>
      </form>
    </Modal>
  );
}

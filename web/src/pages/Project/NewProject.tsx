import { Button, Modal, Stack, TextInput } from "@mantine/core";
import { useForm } from "@mantine/form";
import { useCreateProject } from "../../api/projects";
import { ErrorNotice } from "../../components/ErrorNotice";

export function NewProject({ onClose }: { onClose: () => void }) {
  const create = useCreateProject();
  const form = useForm({ initialValues: { name: "", description: "" } });
  return (
    <Modal opened onClose={onClose} title="New project" closeButtonProps={{ "aria-label": "Close" }}>
      <form onSubmit={form.onSubmit((values) => create.mutate(values, { onSuccess: onClose }))}>
        <Stack>
          <TextInput
            label="Name"
            description="Lower-case letters, digits, '.', '_' and '-'"
            required
            data-autofocus
            autoComplete="off"
            {...form.getInputProps("name")}
          />
          <TextInput label="Description" {...form.getInputProps("description")} />
          {create.error && <ErrorNotice error={create.error} />}
          <Button type="submit" loading={create.isPending}>
            Create
          </Button>
        </Stack>
      </form>
    </Modal>
  );
}

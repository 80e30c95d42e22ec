import { Button, Checkbox, Modal, PasswordInput, Stack, TextInput } from "@mantine/core";
import { useForm } from "@mantine/form";
import { useCreateUser } from "../../api/users";
import { ErrorNotice } from "../../components/ErrorNotice";

export function NewUser({ onClose }: { onClose: () => void }) {
  const create = useCreateUser();
  const form = useForm({ initialValues: { name: "", full_name: "", password: "", is_admin: false } });
  return (
    <Modal opened onClose={onClose} title="New user" closeButtonProps={{ "aria-label": "Close" }}>
      <form onSubmit={form.onSubmit((values) => create.mutate(values, { onSuccess: onClose }))}>
        <Stack>
          <TextInput
            label="User name"
            required
            data-autofocus
            autoComplete="off"
            {...form.getInputProps("name")}
          />
          <TextInput label="Name" autoComplete="off" {...form.getInputProps("full_name")} />
          <PasswordInput
            label="Initial password"
            required
            autoComplete="new-password"
            {...form.getInputProps("password")}
          />
          <Checkbox label="Site administrator" {...form.getInputProps("is_admin", { type: "checkbox" })} />
          {create.error && <ErrorNotice error={create.error} />}
          <Button type="submit" loading={create.isPending}>
            Create
          </Button>
        </Stack>
      </form>
    </Modal>
  );
}

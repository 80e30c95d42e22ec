import { Button, Checkbox, Modal, PasswordInput, Stack, TextInput } from "@mantine/core";
import { useForm } from "@mantine/form";
import { useCreateUser } from "../../api/users";
import { ErrorNotice } from "../../components/ErrorNotice";

export function NewUser({ onClose }: { onClose: () => void }) {
  const create = useCreateUser();
  const form = useForm({
    initialValues: { name: "", full_name: "", password: "", is_admin: false, is_service: false },
  });
  const submit = form.onSubmit(({ name, full_name, password, is_admin, is_service }) =>
    create.mutate(
      {
        name,
        full_name,
        is_service,
        password: is_service ? null : password || null,
        is_admin: is_admin && !is_service,
      },
      { onSuccess: onClose },
    ),
  );
  return (
    <Modal opened onClose={onClose} title="New user" closeButtonProps={{ "aria-label": "Close" }}>
      <form onSubmit={submit}>
        <Stack>
          <TextInput
            label="User name"
            required
            data-autofocus
            autoComplete="off"
            {...form.getInputProps("name")}
          />
          <TextInput label="Name" autoComplete="off" {...form.getInputProps("full_name")} />
          <Checkbox
            label="Service account"
            description="For scripts and other systems: no password, only tokens"
            {...form.getInputProps("is_service", { type: "checkbox" })}
          />
          {!form.values.is_service && (
            <>
              <PasswordInput
                label="Initial password"
                description="Empty for somebody who signs in with a provider alone"
                autoComplete="new-password"
                {...form.getInputProps("password")}
              />
              <Checkbox
                label="Site administrator"
                {...form.getInputProps("is_admin", { type: "checkbox" })}
              />
            </>
          )}
          {create.error && <ErrorNotice error={create.error} />}
          <Button type="submit" loading={create.isPending}>
            Create
          </Button>
        </Stack>
      </form>
    </Modal>
  );
}

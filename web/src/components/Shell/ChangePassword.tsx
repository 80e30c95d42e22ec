import { Button, Checkbox, Modal, PasswordInput, Stack } from "@mantine/core";
import { useForm } from "@mantine/form";
import { useChangeUser } from "../../api/users";
import { ErrorNotice } from "../ErrorNotice";
import { notifyDone } from "../notify";

export function ChangePassword({ user, onClose }: { user: string; onClose: () => void }) {
  const change = useChangeUser();
  const form = useForm({ initialValues: { old_password: "", password: "", revoke_tokens: true } });
  const submit = form.onSubmit((values) =>
    change.mutate(
      { user, ...values },
      {
        onSuccess: () => {
          notifyDone("Password changed. You are signed out everywhere else.");
          onClose();
        },
      },
    ),
  );
  return (
    <Modal opened onClose={onClose} title="Change password" closeButtonProps={{ "aria-label": "Close" }}>
      <form onSubmit={submit}>
        <Stack>
          <PasswordInput
            label="Current password"
            autoComplete="current-password"
            required
            data-autofocus
            {...form.getInputProps("old_password")}
          />
          <PasswordInput
            label="New password"
            autoComplete="new-password"
            required
            {...form.getInputProps("password")}
          />
          <Checkbox
            label="Revoke my API tokens and signed-in command lines"
            {...form.getInputProps("revoke_tokens", { type: "checkbox" })}
          />
          {change.error && <ErrorNotice error={change.error} />}
          <Button type="submit" loading={change.isPending}>
            Change password
          </Button>
        </Stack>
      </form>
    </Modal>
  );
}

import { Button, Modal, PasswordInput, Stack } from "@mantine/core";
import { useForm } from "@mantine/form";
import { useChangeUser } from "../../api/users";
import { ErrorNotice } from "../ErrorNotice";
import { notifyDone } from "../notify";

export function ChangePassword({ user, onClose }: { user: string; onClose: () => void }) {
  const change = useChangeUser();
  const form = useForm({ initialValues: { old_password: "", password: "" } });
  const submit = form.onSubmit((values) =>
    change.mutate(
      { user, ...values },
      {
        onSuccess: () => {
          notifyDone("Your password is changed.");
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
            label="Password now"
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
          {change.error && <ErrorNotice error={change.error} />}
          <Button type="submit" loading={change.isPending}>
            Change it
          </Button>
        </Stack>
      </form>
    </Modal>
  );
}

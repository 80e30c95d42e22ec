import { Button, Modal, NativeSelect, NumberInput, PasswordInput, Stack, TextInput } from "@mantine/core";
import { useForm } from "@mantine/form";
import { useSetSmtp } from "../../api/notifications";
import type { Smtp } from "../../api/shapes";
import { ErrorNotice } from "../../components/ErrorNotice";
import { notifyDone } from "../../components/notify";
import { draftOf, PORTS, TLS_OPTIONS, toSmtp } from "./draft";

interface Props {
  before?: Smtp;
  onClose: () => void;
}

export function EditSmtp({ before, onClose }: Props) {
  const set = useSetSmtp();
  const form = useForm({ initialValues: draftOf(before) });
  const submit = form.onSubmit((draft) =>
    set.mutate(toSmtp(draft), {
      onSuccess: ({ host }) => {
        notifyDone(`E-mail is sent by ${host}. Test it.`);
        onClose();
      },
    }),
  );
  return (
    <Modal opened onClose={onClose} title="Mail server" closeButtonProps={{ "aria-label": "Close" }}>
      <form onSubmit={submit}>
        <Stack>
          <TextInput
            label="Host"
            placeholder="smtp.example.org"
            required
            data-autofocus
            autoComplete="off"
            {...form.getInputProps("host")}
          />
          <NativeSelect label="Connection" data={TLS_OPTIONS} {...form.getInputProps("tls")} />
          <NumberInput
            label="Port"
            min={1}
            max={65535}
            placeholder={String(PORTS[form.values.tls])}
            {...form.getInputProps("port")}
          />
          <TextInput
            label="From"
            placeholder="millpond@example.org"
            required
            autoComplete="off"
            {...form.getInputProps("sender")}
          />
          <TextInput label="User" autoComplete="off" {...form.getInputProps("user")} />
          <PasswordInput
            label="Password"
            description={before?.has_password ? "Leave it empty to keep the one that is set." : undefined}
            autoComplete="new-password"
            {...form.getInputProps("password")}
          />
          <TextInput
            label="Domains"
            description="E-mail goes only to these, with commas between them; empty for any."
            placeholder="example.org, lab.example.org"
            autoComplete="off"
            {...form.getInputProps("domains")}
          />
          {set.error && <ErrorNotice error={set.error} />}
          <Button type="submit" loading={set.isPending}>
            Save
          </Button>
        </Stack>
      </form>
    </Modal>
  );
}

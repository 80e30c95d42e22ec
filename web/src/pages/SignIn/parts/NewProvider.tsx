import { Button, Checkbox, Modal, PasswordInput, SegmentedControl, Stack, TextInput } from "@mantine/core";
import { type UseFormReturnType, useForm } from "@mantine/form";
import { useCreateProvider } from "../../../api/signIn";
import { ErrorNotice } from "../../../components/ErrorNotice";
import { notifyDone } from "../../../components/notify";
import { type Draft, EMPTY, type Kind, toProvider } from "./draft";

const KINDS = [
  { value: "oidc", label: "OpenID" },
  { value: "ldap", label: "Directory (LDAP)" },
];

type Form = UseFormReturnType<Draft>;

export function NewProvider({ onClose }: { onClose: () => void }) {
  const create = useCreateProvider();
  const form = useForm<Draft>({ initialValues: EMPTY });
  const submit = form.onSubmit((draft) =>
    create.mutate(toProvider(draft), {
      onSuccess: ({ name }) => {
        notifyDone(`Provider ${name} added. Test it, then try to sign in.`);
        onClose();
      },
    }),
  );
  const { kind } = form.values;
  return (
    <Modal
      opened
      onClose={onClose}
      title="New provider"
      size="lg"
      closeButtonProps={{ "aria-label": "Close" }}
    >
      <form onSubmit={submit}>
        <Stack>
          <SegmentedControl
            aria-label="Kind"
            data={KINDS}
            value={kind}
            onChange={(value) => form.setFieldValue("kind", value as Kind)}
          />
          <TextInput
            label="Name"
            description="Like corp. It is part of addresses and cannot be changed."
            required
            data-autofocus
            autoComplete="off"
            {...form.getInputProps("name")}
          />
          <TextInput
            label="Title"
            description="Said by the button of the sign-in page"
            autoComplete="off"
            {...form.getInputProps("title")}
          />
          {kind === "oidc" ? <OpenId form={form} /> : <Directory form={form} />}
          <Checkbox
            label="Create accounts at first sign-ins"
            {...form.getInputProps("create_accounts", { type: "checkbox" })}
          />
          {create.error && <ErrorNotice error={create.error} />}
          <Button type="submit" loading={create.isPending}>
            Add
          </Button>
        </Stack>
      </form>
    </Modal>
  );
}

function OpenId({ form }: { form: Form }) {
  return (
    <>
      <TextInput
        label="Issuer"
        placeholder="https://login.example.com/realms/corp"
        required
        autoComplete="off"
        {...form.getInputProps("issuer")}
      />
      <TextInput label="Client id" required autoComplete="off" {...form.getInputProps("client_id")} />
      <PasswordInput label="Client secret" autoComplete="new-password" {...form.getInputProps("secret")} />
      <TextInput label="Scopes" autoComplete="off" {...form.getInputProps("scopes")} />
      <TextInput label="Claim with the groups" autoComplete="off" {...form.getInputProps("groups_claim")} />
      <TextInput
        label="Domains of e-mail addresses that may sign in"
        description="Empty for all"
        autoComplete="off"
        {...form.getInputProps("domains")}
      />
      <Checkbox
        label="Let people in whose address is not verified"
        {...form.getInputProps("allow_unverified_email", { type: "checkbox" })}
      />
    </>
  );
}

function Directory({ form }: { form: Form }) {
  return (
    <>
      <TextInput
        label="URL"
        placeholder="ldaps://ldap.example.com"
        required
        autoComplete="off"
        {...form.getInputProps("url")}
      />
      <Checkbox label="Encrypt with StartTLS" {...form.getInputProps("start_tls", { type: "checkbox" })} />
      <TextInput
        label="Account that looks people up"
        description="Its DN; empty for anonymous"
        autoComplete="off"
        {...form.getInputProps("bind_dn")}
      />
      <PasswordInput label="Its password" autoComplete="new-password" {...form.getInputProps("secret")} />
      <TextInput label="Where people are" required autoComplete="off" {...form.getInputProps("user_base")} />
      <TextInput label="Filter of a person" autoComplete="off" {...form.getInputProps("user_filter")} />
      <TextInput label="Where groups are" autoComplete="off" {...form.getInputProps("group_base")} />
      <TextInput
        label="Filter of a person's groups"
        autoComplete="off"
        {...form.getInputProps("group_filter")}
      />
      <Checkbox label="Count groups of groups" {...form.getInputProps("nested", { type: "checkbox" })} />
    </>
  );
}

import { Button, Group, PasswordInput, TextInput } from "@mantine/core";
import { useForm } from "@mantine/form";
import { usePutSecret } from "../../../api/secrets";
import { notifyError } from "../../../components/notify";

/** New, or with another value for jobs that start from now on. */
export function SetSecret({ project }: { project: string }) {
  const put = usePutSecret(project);
  const form = useForm({ initialValues: { name: "", value: "" } });
  const submit = form.onSubmit((values) =>
    put.mutate(values, { onSuccess: () => form.reset(), onError: notifyError }),
  );
  return (
    <form onSubmit={submit} autoComplete="off">
      <Group align="flex-end">
        <TextInput
          label="Name"
          placeholder="HUB_TOKEN"
          required
          autoComplete="off"
          size="sm"
          classNames={{ input: "mono" }}
          {...form.getInputProps("name")}
        />
        <PasswordInput
          label="Value"
          required
          autoComplete="new-password"
          size="sm"
          w={260}
          {...form.getInputProps("value")}
        />
        <Button type="submit" variant="light" size="sm" loading={put.isPending}>
          Set the secret
        </Button>
      </Group>
    </form>
  );
}

import { Button, Group, Select, TextInput } from "@mantine/core";
import { useForm } from "@mantine/form";
import { usePutMember } from "../../../api/projects";
import type { Role } from "../../../api/shapes";
import { notifyError } from "../../../components/notify";
import { ROLES } from "./roles";

export function AddMember({ project }: { project: string }) {
  const put = usePutMember(project);
  const form = useForm({ initialValues: { user: "", role: "member" as Role } });
  const submit = form.onSubmit((values) =>
    put.mutate(values, { onSuccess: () => form.reset(), onError: notifyError }),
  );
  return (
    <form onSubmit={submit}>
      <Group align="flex-end">
        <TextInput label="User name" required autoComplete="off" size="sm" {...form.getInputProps("user")} />
        <Select
          label="Role"
          data={ROLES}
          allowDeselect={false}
          size="sm"
          w={120}
          {...form.getInputProps("role")}
        />
        <Button type="submit" variant="light" size="sm" loading={put.isPending}>
          Add
        </Button>
      </Group>
    </form>
  );
}

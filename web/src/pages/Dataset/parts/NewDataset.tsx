import { Button, Modal, Select, Stack, Text, Textarea, TextInput } from "@mantine/core";
import { useForm } from "@mantine/form";
import { useQuery } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useCreateDataset } from "../../../api/datasets";
import { projectsQuery } from "../../../api/projects";
import { CommandLine } from "../../../components/Copyable";
import { ErrorNotice } from "../../../components/ErrorNotice";

interface Props {
  project: string | undefined;
  onClose: () => void;
}

export function NewDataset({ project, onClose }: Props) {
  const navigate = useNavigate();
  const create = useCreateDataset();
  const entries = useQuery(projectsQuery).data?.items ?? [];
  const projects = entries.filter((entry) => entry.role !== "viewer").map((entry) => entry.name);
  const form = useForm({ initialValues: { project: project ?? "", name: "", description: "" } });
  const submit = form.onSubmit((values) =>
    create.mutate(
      { ...values, project: values.project || (projects[0] ?? "") },
      {
        onSuccess: (made) =>
          navigate({
            to: "/projects/$project/datasets/$dataset",
            params: { project: made.project, dataset: made.name },
          }),
      },
    ),
  );
  return (
    <Modal
      opened
      onClose={onClose}
      title="New Dataset"
      size="lg"
      closeButtonProps={{ "aria-label": "Close" }}
    >
      <form onSubmit={submit}>
        <Stack>
          <Select
            label="Project"
            data={projects}
            required
            allowDeselect={false}
            {...form.getInputProps("project")}
            value={form.values.project || (projects[0] ?? null)}
          />
          <TextInput
            label="Name"
            description="Lower-case letters, digits, '.', '_' and '-'"
            required
            data-autofocus
            autoComplete="off"
            {...form.getInputProps("name")}
          />
          <Textarea label="Description" autosize minRows={2} {...form.getInputProps("description")} />
          {create.error && <ErrorNotice error={create.error} />}
          <Button type="submit" loading={create.isPending}>
            Create
          </Button>
          <Text size="sm">Or, in the directory that holds the files:</Text>
          <CommandLine command={`mill data init ${form.values.name || "my-data"} && mill data sync`} />
        </Stack>
      </form>
    </Modal>
  );
}

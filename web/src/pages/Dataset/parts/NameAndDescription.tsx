import { Button, Group, Paper, Stack, Text, Textarea, TextInput } from "@mantine/core";
import { useForm } from "@mantine/form";
import { useNavigate } from "@tanstack/react-router";
import { useChangeDataset } from "../../../api/datasets";
import { useMay } from "../../../api/session";
import type { Dataset } from "../../../api/shapes";
import { CommandLine } from "../../../components/Copyable";
import { ErrorNotice } from "../../../components/ErrorNotice";
import { notifyDone } from "../../../components/notify";
import { Time } from "../../../components/Time";
import { shellQuote } from "../../../lib/names";

/** Renaming keeps everything: commits, caches and jobs know the dataset by its id. */
export function NameAndDescription({ dataset }: { dataset: Dataset }) {
  const may = useMay(dataset.project, "member") && dataset.kind === "data";
  const navigate = useNavigate();
  const change = useChangeDataset({ project: dataset.project, dataset: dataset.name });
  const form = useForm({ initialValues: { name: dataset.name, description: dataset.description } });
  const save = form.onSubmit((values) =>
    // The promise rather than callbacks: under its old name the page is gone before the answer comes.
    change.mutateAsync(values).then(
      (changed) => {
        form.resetDirty();
        notifyDone("Saved.");
        return navigate({
          to: "/projects/$project/datasets/$dataset",
          params: { project: changed.project, dataset: changed.name },
          search: { tab: "settings" },
          replace: true,
        });
      },
      () => {}, // shown below the fields
    ),
  );
  return (
    <Paper withBorder p="md" component="form" onSubmit={save}>
      <Stack>
        <TextInput
          label="Name"
          description="Cloned folders follow the new name. Update scripts that use the old one."
          readOnly={!may}
          autoComplete="off"
          {...form.getInputProps("name")}
        />
        <Textarea
          label="Description"
          autosize
          minRows={2}
          readOnly={!may}
          {...form.getInputProps("description")}
        />
        {change.error && <ErrorNotice error={change.error} />}
        <Group justify="space-between">
          <Text size="sm" c="dimmed" component="div">
            Made by {dataset.created_by}, <Time at={dataset.created_at} />
          </Text>
          {may && (
            <Button type="submit" variant="light" loading={change.isPending} disabled={!form.isDirty()}>
              Save
            </Button>
          )}
        </Group>
        {may && form.isDirty() && <CommandLine command={commandFor(dataset, form.values)} />}
      </Stack>
    </Paper>
  );
}

function commandFor(dataset: Dataset, { name, description }: { name: string; description: string }): string {
  const named = name !== dataset.name ? ` --name ${shellQuote(name)}` : "";
  const described = description !== dataset.description ? ` --description ${shellQuote(description)}` : "";
  return `mill data set ${dataset.project}/${dataset.name}${named}${described}`;
}

import { Button, Group, Paper, Stack, Text, Textarea, Title } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { useChangeDataset, useDeleteDataset } from "../../../api/datasets";
import { useMay } from "../../../api/session";
import type { Dataset } from "../../../api/shapes";
import { ConfirmByName } from "../../../components/ConfirmByName";
import { notifyDone, notifyError } from "../../../components/notify";
import { People } from "../../../components/People";
import { TextLink } from "../../../components/TextLink";
import { Time } from "../../../components/Time";
import { plural } from "../../../lib/quantity";

export function SettingsTab({ dataset }: { dataset: Dataset }) {
  return (
    <Stack maw={640}>
      <Description dataset={dataset} />
      <Access dataset={dataset} />
      <Deletion dataset={dataset} />
    </Stack>
  );
}

function Description({ dataset }: { dataset: Dataset }) {
  const place = { project: dataset.project, dataset: dataset.name };
  const may = useMay(dataset.project, "member");
  const change = useChangeDataset(place);
  const [text, setText] = useState(dataset.description);
  const save = () =>
    change.mutate({ description: text }, { onSuccess: () => notifyDone("Saved."), onError: notifyError });
  return (
    <Paper withBorder p="md">
      <Textarea
        label="Description"
        autosize
        minRows={2}
        value={text}
        readOnly={!may}
        onChange={(event) => setText(event.currentTarget.value)}
      />
      <Group justify="space-between" mt="sm">
        <Text size="sm" c="dimmed" component="div">
          Made by {dataset.created_by}, <Time at={dataset.created_at} />
        </Text>
        {may && (
          <Button
            variant="light"
            onClick={save}
            loading={change.isPending}
            disabled={text === dataset.description}
          >
            Save
          </Button>
        )}
      </Group>
    </Paper>
  );
}

function Access({ dataset }: { dataset: Dataset }) {
  return (
    <Paper withBorder p="md" component="section">
      <Title order={2} size="h5" mb="xs">
        Access
      </Title>
      <Group>
        <People names={dataset.members} />
        <Text size="sm">
          {plural(dataset.members.length, "member")} of project{" "}
          <TextLink to="/projects" inherit underline="always">
            {dataset.project}
          </TextLink>
          , and nobody else, can read it.
        </Text>
      </Group>
    </Paper>
  );
}

function Deletion({ dataset }: { dataset: Dataset }) {
  const may = useMay(dataset.project, "admin");
  const navigate = useNavigate();
  const remove = useDeleteDataset({ project: dataset.project, dataset: dataset.name });
  const [opened, dialog] = useDisclosure(false);
  if (!may) return null;
  const confirm = () => remove.mutate(undefined, { onSuccess: () => navigate({ to: "/datasets" }) });
  return (
    <Paper withBorder p="md" component="section">
      <Title order={2} size="h5" mb="xs">
        Delete this dataset
      </Title>
      <Button color="red.9" variant="filled" onClick={dialog.open}>
        Delete {dataset.name}
      </Button>
      <ConfirmByName
        opened={opened}
        onClose={dialog.close}
        title={`Delete ${dataset.name}?`}
        name={dataset.name}
        explanation={`All ${plural(dataset.commits, "commit")} and every cached copy go with it. This cannot be taken back.`}
        action="Delete it"
        onConfirm={confirm}
        busy={remove.isPending}
        error={remove.error}
      />
    </Paper>
  );
}

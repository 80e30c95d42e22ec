import { Button, Group, Modal, Paper, Stack, Text, Title } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { useNavigate } from "@tanstack/react-router";
import { useDeleteDataset, useUndeleteDataset } from "../../../api/datasets";
import { useMay } from "../../../api/session";
import type { Dataset } from "../../../api/shapes";
import { CommandLine } from "../../../components/Copyable";
import { ErrorNotice } from "../../../components/ErrorNotice";
import { notifyDone, notifyUndo, tell } from "../../../components/notify";
import { People } from "../../../components/People";
import { TextLink } from "../../../components/TextLink";
import { plural } from "../../../lib/quantity";
import { CacheIdle } from "./CacheIdle";
import { NameAndDescription } from "./NameAndDescription";
import { RetentionRule } from "./RetentionRule";

export function SettingsTab({ dataset }: { dataset: Dataset }) {
  return (
    <Stack maw={720}>
      {dataset.kind === "data" && <NameAndDescription dataset={dataset} />}
      {dataset.kind === "data" && <RetentionRule dataset={dataset} />}
      <CacheIdle dataset={dataset} />
      <Access dataset={dataset} />
      <Deletion dataset={dataset} />
    </Stack>
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
  const may = useMay(dataset.project, "admin") && dataset.kind === "data";
  const navigate = useNavigate();
  const remove = useDeleteDataset();
  const restore = useUndeleteDataset();
  const [opened, dialog] = useDisclosure(false);
  if (!may) return null;
  const bringBack = () =>
    tell(restore.mutateAsync({ project: dataset.project, dataset: dataset.id }), () =>
      notifyDone(`${dataset.name} is back.`),
    );
  const confirm = async () => {
    await remove.mutateAsync({ project: dataset.project, dataset: dataset.name });
    notifyUndo(`${dataset.name} is in the bin for 30 days.`, bringBack);
    await navigate({ to: "/datasets" });
  };
  return (
    <Paper withBorder p="md" component="section">
      <Title order={2} size="h5" mb="xs">
        Delete this dataset
      </Title>
      <Group justify="space-between">
        <Button color="red.9" onClick={dialog.open}>
          Delete {dataset.name}
        </Button>
        <CommandLine command={`mill data delete ${dataset.project}/${dataset.name}`} />
      </Group>
      <Modal
        opened={opened}
        onClose={dialog.close}
        title={`Delete ${dataset.name}?`}
        closeButtonProps={{ "aria-label": "Close" }}
      >
        <Stack>
          <Text size="sm">
            It goes to the bin with its {plural(dataset.commits, "commit")} and can be brought back for 30
            days. Its cached copies are cleared.
          </Text>
          {remove.error && <ErrorNotice error={remove.error} />}
          <Group justify="flex-end">
            <Button variant="default" onClick={dialog.close}>
              Cancel
            </Button>
            {/* What went wrong is shown above. */}
            <Button
              color="red.9"
              loading={remove.isPending}
              onClick={() => void confirm().catch(() => {})}
              data-autofocus
            >
              Move to bin
            </Button>
          </Group>
        </Stack>
      </Modal>
    </Paper>
  );
}

import { Button, Group, Modal, MultiSelect, PasswordInput, Stack, Text, TextInput } from "@mantine/core";
import { useForm } from "@mantine/form";
import { useDisclosure } from "@mantine/hooks";
import { IconTrash } from "@tabler/icons-react";
import { useSession } from "../../../api/session";
import type { LakeReplicaCreate } from "../../../api/shapes";
import { useAddLakeReplica, useRemoveLakeReplica } from "../../../api/topology";
import { ConfirmByName } from "../../../components/ConfirmByName";
import { CommandLine } from "../../../components/Copyable";
import { ErrorNotice } from "../../../components/ErrorNotice";
import { shellQuote } from "../../../lib/names";

const EMPTY = { name: "", url: "", endpoint: "", region: "", keyId: "", secret: "", sites: [] as string[] };
type Draft = typeof EMPTY;

/** For administrators. */
export function AddReplicaButton({ sites }: { sites: string[] }) {
  const [opened, dialog] = useDisclosure(false);
  return (
    <>
      <Button size="compact-sm" variant="default" onClick={dialog.open}>
        Add replica
      </Button>
      {opened && <AddReplica sites={sites} onClose={dialog.close} />}
    </>
  );
}

function AddReplica({ sites, onClose }: { sites: string[]; onClose: () => void }) {
  const add = useAddLakeReplica();
  const form = useForm<Draft>({ initialValues: EMPTY });
  const said = replicaOf(form.values);
  const complete = said.name !== "" && said.url !== "" && said.sites.length > 0;
  return (
    <Modal
      opened
      onClose={onClose}
      title="Add a replica of the lake"
      closeButtonProps={{ "aria-label": "Close" }}
    >
      <form onSubmit={form.onSubmit(() => add.mutate(said, { onSuccess: onClose }))}>
        <Stack>
          <TextInput
            label="Name"
            required
            data-autofocus
            autoComplete="off"
            {...form.getInputProps("name")}
          />
          <TextInput
            label="Place"
            description="An empty place in S3, Google Cloud Storage or Azure, or a former replica of this lake."
            placeholder="s3://bucket/prefix"
            required
            autoComplete="off"
            {...form.getInputProps("url")}
          />
          <MultiSelect
            label="Sites that read from it"
            required
            searchable
            data={sites}
            {...form.getInputProps("sites")}
          />
          <Group grow align="flex-start">
            <TextInput label="Region" placeholder="us-east-1" {...form.getInputProps("region")} />
            <TextInput label="Endpoint" placeholder="Amazon's" {...form.getInputProps("endpoint")} />
          </Group>
          <Group grow align="flex-start">
            <TextInput label="Access key id" autoComplete="off" {...form.getInputProps("keyId")} />
            <PasswordInput
              label="Secret of the key"
              autoComplete="new-password"
              {...form.getInputProps("secret")}
            />
          </Group>
          <Text size="sm" c="dimmed">
            Without an access key it is opened with the credentials of the lake. The server copies all commits
            there and keeps it up to date.
          </Text>
          {add.error && <ErrorNotice error={add.error} />}
          <Button type="submit" disabled={!complete} loading={add.isPending}>
            Add
          </Button>
          <div>
            <Text size="xs" c="dimmed" mb={2}>
              The same on the command line
            </Text>
            <CommandLine command={replicaCommand(said)} />
          </div>
        </Stack>
      </form>
    </Modal>
  );
}

/** For administrators. What lies in its place stays there. */
export function RemoveReplica({ replica }: { replica: string }) {
  const remove = useRemoveLakeReplica();
  const [opened, dialog] = useDisclosure(false);
  if (!useSession()?.user.is_admin) return null;
  return (
    <>
      <Button
        size="compact-sm"
        variant="default"
        leftSection={<IconTrash size={14} aria-hidden />}
        aria-label={`Remove the replica ${replica}`}
        onClick={dialog.open}
      >
        Remove
      </Button>
      <ConfirmByName
        opened={opened}
        onClose={dialog.close}
        title={`Remove the replica ${replica}?`}
        name={replica}
        explanation="Its sites read from the lake again. Its objects stay in its bucket."
        action="Remove"
        onConfirm={() => remove.mutate(replica, { onSuccess: dialog.close })}
        busy={remove.isPending}
        error={remove.error}
      />
    </>
  );
}

function replicaOf({ name, url, endpoint, region, keyId, secret, sites }: Draft): LakeReplicaCreate {
  return {
    name: name.trim(),
    url: url.trim(),
    endpoint: endpoint.trim() || null,
    region: region.trim() || null,
    sites,
    credentials: keyId.trim() || secret ? { key_id: keyId.trim() || null, secret: secret || null } : null,
  };
}

function replicaCommand({ name, url, endpoint, region, sites, credentials }: LakeReplicaCreate): string {
  const words = ["mill lake replica add", shellQuote(name || "NAME"), shellQuote(url || "URL")];
  for (const site of sites) words.push(`--site ${shellQuote(site)}`);
  if (region) words.push(`--region ${shellQuote(region)}`);
  if (endpoint) words.push(`--endpoint ${shellQuote(endpoint)}`);
  if (credentials) words.push(`--key-id ${shellQuote(credentials.key_id ?? "ID")} --secret-file FILE`);
  return words.join(" ");
}

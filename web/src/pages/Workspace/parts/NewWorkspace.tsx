import { Alert, Button, Group, Modal, Select, Stack, Switch, Text, TextInput } from "@mantine/core";
import { useForm } from "@mantine/form";
import { useQuery } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useMemberProjects } from "../../../api/session";
import type { Volume, WorkspacePlan } from "../../../api/shapes";
import { volumesQuery } from "../../../api/volumes";
import { useCreateWorkspace, usePlanWorkspace, type WorkspaceDraft } from "../../../api/workspaces";
import { CommandLine } from "../../../components/Copyable";
import { ErrorNotice } from "../../../components/ErrorNotice";
import { shellQuote } from "../../../lib/names";
import { formatBytes, formatSeconds, plural } from "../../../lib/quantity";
import { readBytes } from "./bytes";

interface Props {
  project: string | undefined;
  /** `W` or `W@SNAPSHOT`: makes a clone of it. */
  clone?: string;
  onClose: () => void;
}

interface Draft {
  name: string;
  size: string;
  dataset: string;
  volume: string;
  storageClass: string;
  manyNodes: boolean;
  shared: boolean;
}

/** Where it would go, how it would be made and how long that takes is told before it begins. */
export function NewWorkspace({ project, clone, onClose }: Props) {
  const navigate = useNavigate();
  const projects = useMemberProjects();
  const volumes = useQuery(volumesQuery).data?.items ?? [];
  const classes = storageClasses(volumes);
  const form = useForm<Draft & { project: string }>({
    initialValues: {
      project: project ?? "",
      name: "",
      size: clone ? "" : "20GB",
      dataset: "",
      volume: "",
      storageClass: "",
      manyNodes: false,
      shared: false,
    },
    validate: {
      size: (text) =>
        (clone && !text.trim()) || readBytes(text) !== null ? null : "Write a size like 20GB or 500MB.",
    },
  });
  const chosen = form.values.project || projects[0] || "";
  const plan = usePlanWorkspace(chosen);
  const create = useCreateWorkspace(chosen);
  const body = bodyOf(form.values, clone);
  const submit = form.onSubmit(() =>
    create.mutate(body, {
      onSuccess: (made) =>
        navigate({
          to: "/projects/$project/workspaces/$workspace",
          params: { project: made.project, workspace: made.name },
        }),
    }),
  );
  return (
    <Modal
      opened
      onClose={onClose}
      title={clone ? `Clone ${clone}` : "New workspace"}
      size="lg"
      closeButtonProps={{ "aria-label": "Close" }}
    >
      <form onSubmit={submit}>
        <Stack>
          {!clone && (
            <Select
              label="Project"
              data={projects}
              required
              allowDeselect={false}
              value={chosen || null}
              onChange={(value) => form.setFieldValue("project", value ?? "")}
            />
          )}
          <TextInput
            label="Name"
            description="Lower-case letters, digits, '.', '_' and '-'"
            required
            data-autofocus
            autoComplete="off"
            {...form.getInputProps("name")}
          />
          <TextInput
            label="Size"
            description={
              clone ? "Left empty: that of its source." : "What it may take. It is reserved on the volume."
            }
            required={!clone}
            {...form.getInputProps("size")}
          />
          {!clone && (
            <TextInput
              label="Files of"
              description="A dataset, branch or commit, like xray@main. Left empty: the workspace begins empty."
              autoComplete="off"
              {...form.getInputProps("dataset")}
            />
          )}
          <Select
            label="Volume"
            placeholder="Chosen by Millpond"
            data={volumes.map((volume) => volume.name)}
            clearable
            value={form.values.volume || null}
            onChange={(value) => form.setFieldValue("volume", value ?? "")}
          />
          {classes.length > 0 && (
            <Select
              label="Storage class"
              description="Makes it a claim of a Kubernetes cluster. Left empty: a directory of the volume."
              placeholder="None"
              data={classes}
              clearable
              value={form.values.storageClass || null}
              onChange={(value) => form.setFieldValue("storageClass", value ?? "")}
            />
          )}
          {form.values.storageClass && (
            <Switch
              label="Let pods of several nodes mount it"
              description="ReadWriteMany, which the storage must offer"
              {...form.getInputProps("manyNodes", { type: "checkbox" })}
            />
          )}
          <Switch label="Share it with the project" {...form.getInputProps("shared", { type: "checkbox" })} />
          {plan.data && <Planned plan={plan.data} />}
          {(create.error ?? plan.error) != null && <ErrorNotice error={create.error ?? plan.error} />}
          <Group justify="flex-end">
            <Button
              variant="default"
              loading={plan.isPending}
              disabled={!form.values.name}
              onClick={() => !form.validate().hasErrors && plan.mutate(body)}
            >
              Show the plan
            </Button>
            <Button type="submit" loading={create.isPending}>
              {clone ? "Clone" : "Create"}
            </Button>
          </Group>
          <CommandLine command={commandOf(form.values, clone)} wrap />
        </Stack>
      </form>
    </Modal>
  );
}

function Planned({ plan }: { plan: WorkspacePlan }) {
  const [first, ...others] = plan.reasons;
  const seconds = plan.expected_seconds;
  return (
    <Alert color="blue" p="xs" title={`On ${plan.volume} at ${plan.site}, ${formatBytes(plan.size_bytes)}`}>
      <Text size="sm">
        {first}
        {seconds !== null && seconds !== undefined && `, in about ${formatSeconds(seconds)}`}
      </Text>
      {others.map((reason) => (
        <Text key={reason} size="xs" c="dimmed">
          {reason}
        </Text>
      ))}
      {plan.evicts > 0 && <Text size="sm">{plural(plan.evicts, "idle cached commit")} will be evicted.</Text>}
    </Alert>
  );
}

function bodyOf(values: Draft, clone: string | undefined): WorkspaceDraft {
  const size = readBytes(values.size);
  return {
    name: values.name,
    shared: values.shared,
    read_only: false,
    git: "",
    git_ref: "",
    ...(size !== null && { size_bytes: size }),
    ...(clone ? { clone } : values.dataset && { dataset: values.dataset }),
    ...(values.volume && { volume: values.volume }),
    many_nodes: Boolean(values.storageClass) && values.manyNodes,
    ...(values.storageClass && { storage_class: values.storageClass }),
  };
}

/** Names of the classes of which agents of Kubernetes clusters make claims. */
function storageClasses(volumes: Volume[]): string[] {
  const found = volumes.flatMap((volume) => (volume.features?.storage_classes ?? []) as { name: string }[]);
  return [...new Set(found.map((one) => one.name))].sort();
}

function commandOf(values: Draft, clone: string | undefined): string {
  const name = shellQuote(values.name || "my-workspace");
  const words = clone ? ["mill workspace clone", shellQuote(clone), name] : ["mill workspace create", name];
  if (values.size) words.push("--size", shellQuote(values.size));
  if (values.dataset && !clone) words.push("--from", shellQuote(values.dataset));
  if (values.volume) words.push("--volume", shellQuote(values.volume));
  if (values.storageClass) words.push("--class", shellQuote(values.storageClass));
  if (values.storageClass && values.manyNodes) words.push("--access", "many");
  if (values.shared) words.push("--share");
  return words.join(" ");
}

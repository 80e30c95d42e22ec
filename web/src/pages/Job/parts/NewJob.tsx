import {
  Button,
  Checkbox,
  Group,
  Modal,
  NumberInput,
  Select,
  SimpleGrid,
  Stack,
  TagsInput,
  Text,
  Textarea,
  TextInput,
} from "@mantine/core";
import { type UseFormReturnType, useForm } from "@mantine/form";
import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { datasetsQuery } from "../../../api/datasets";
import { useSubmitJob } from "../../../api/jobs";
import { secretsQuery } from "../../../api/secrets";
import { useMemberProjects } from "../../../api/session";
import { CommandLine } from "../../../components/Copyable";
import { ErrorNotice } from "../../../components/ErrorNotice";
import { labelsProblem } from "../../../lib/labels";
import { shortId } from "../../../lib/names";
import { commandWords } from "../../../lib/shell";
import { commandLineOf, type Draft, mountsProblem, requestOf } from "./draft";
import { Limits } from "./Limits";
import { OnSelect } from "./OnSelect";

interface Props {
  draft: Draft;
  onClose: () => void;
}

/** A command, its data and what it needs; below, the command line that does the same. */
export function NewJob({ draft, onClose }: Props) {
  const navigate = useNavigate();
  const submit = useSubmitJob();
  const form = useForm<Draft>({
    initialValues: draft,
    validate: { command: problemOf, nodeSelector: labelsProblem, mounts: mountsProblem },
  });
  const send = (values: Draft) =>
    submit.mutate(
      { project: values.project, ...requestOf(values) },
      {
        onSuccess: (job) => {
          onClose();
          navigate({ to: "/projects/$project/jobs/$job", params: { project: job.project, job: job.id } });
        },
      },
    );
  return (
    <Modal opened onClose={onClose} title="New job" size="lg" closeButtonProps={{ "aria-label": "Close" }}>
      <form onSubmit={form.onSubmit(send)}>
        <Stack>
          <Where form={form} />
          <Textarea
            label="Command"
            description="Read data from $MILL_DATA_<DATASET>. Files in $MILL_OUTPUT are kept."
            required
            autosize
            minRows={2}
            data-autofocus
            classNames={{ input: "mono" }}
            {...form.getInputProps("command")}
          />
          <Data form={form} />
          <OnSelect
            description="Template or queue. It fills in what you leave empty."
            value={form.values.on}
            onChange={(on) => form.setFieldValue("on", on)}
          />
          <SimpleGrid cols={{ base: 2, xs: 4 }}>
            <NumberInput label="CPUs" min={0} allowDecimal={false} {...form.getInputProps("cpu")} />
            <NumberInput label="Memory (GB)" min={0} {...form.getInputProps("memoryGb")} />
            <NumberInput label="GPUs" min={0} decimalScale={2} step={1} {...form.getInputProps("gpus")} />
            <NumberInput
              label="Processes"
              placeholder="1 (not distributed)"
              min={1}
              max={1024}
              allowDecimal={false}
              {...form.getInputProps("processes")}
            />
          </SimpleGrid>
          {Number(form.values.processes) > 0 && (
            <Text size="sm" c="dimmed">
              Distributed job: all processes start together. CPUs, memory and GPUs are per process.
            </Text>
          )}
          {Number(form.values.gpus) % 1 !== 0 && (
            <Checkbox
              label="Require enforced GPU sharing"
              {...form.getInputProps("enforced", { type: "checkbox" })}
            />
          )}
          <TextInput
            label="Image"
            description="Container image. Empty: the compute's default."
            {...form.getInputProps("image")}
          />
          <TagsInput
            label="Ports"
            description="Ports to open in the browser, such as 8888."
            splitChars={[",", " "]}
            acceptValueOnBlur
            {...form.getInputProps("ports")}
          />
          <SecretNames form={form} />
          <Limits form={form} />
          <Code draft={draft} form={form} />
          {submit.error && <ErrorNotice error={submit.error} />}
          <Button type="submit" loading={submit.isPending}>
            Submit
          </Button>
          <TheSame draft={form.values} />
        </Stack>
      </form>
    </Modal>
  );
}

type Form = Pick<UseFormReturnType<Draft>, "getInputProps" | "setFieldValue" | "values">;

function problemOf(command: string): string | null {
  const words = commandWords(command);
  if (words === null) return "Unclosed quotation mark.";
  return words.length === 0 ? "Enter a command." : null;
}

function Where({ form }: { form: Form }) {
  const projects = useMemberProjects();
  return (
    <Group grow align="flex-start">
      <TextInput label="Name" placeholder="generated" autoComplete="off" {...form.getInputProps("name")} />
      {projects.length > 1 && (
        <Select
          label="Project"
          data={projects}
          allowDeselect={false}
          searchable
          {...form.getInputProps("project")}
        />
      )}
    </Group>
  );
}

function Data({ form }: { form: Form }) {
  const found = useInfiniteQuery(datasetsQuery({})).data?.pages.flatMap((page) => page.items) ?? [];
  const names = found.map((dataset) =>
    dataset.project === form.values.project ? dataset.name : `${dataset.project}/${dataset.name}`,
  );
  return (
    <TagsInput
      label="Data"
      description="DATASET or DATASET@REF. Press Enter to add."
      data={[...new Set(names)]}
      acceptValueOnBlur
      limit={20}
      maxDropdownHeight={140}
      {...form.getInputProps("inputs")}
    />
  );
}

function SecretNames({ form }: { form: Form }) {
  const found = useQuery(secretsQuery(form.values.project)).data?.items ?? [];
  if (found.length === 0 && form.values.secrets.length === 0) return null;
  return (
    <TagsInput
      label="Secrets"
      description="Project secrets passed as environment variables: NAME or VARIABLE=NAME."
      data={found.map((secret) => secret.name)}
      acceptValueOnBlur
      {...form.getInputProps("secrets")}
    />
  );
}

function Code({ draft, form }: { draft: Draft; form: Form }) {
  if (draft.code === null) {
    return (
      <Text size="sm" c="dimmed">
        No code is sent: the job runs what is installed on the compute. To send a folder, use mill submit in
        it.
      </Text>
    );
  }
  return (
    <Checkbox
      label={`Use the code of that job (${shortId(draft.code)})`}
      checked={form.values.code !== null}
      onChange={(event) => form.setFieldValue("code", event.currentTarget.checked ? draft.code : null)}
    />
  );
}

function TheSame({ draft }: { draft: Draft }) {
  const only = useMemberProjects().length < 2;
  return (
    <div>
      <Text size="xs" c="dimmed" mb={2}>
        The same on the command line
      </Text>
      <CommandLine command={commandLineOf(draft, only)} />
    </div>
  );
}

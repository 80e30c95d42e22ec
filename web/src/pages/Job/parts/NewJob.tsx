import {
  Autocomplete,
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
import { useMediaQuery } from "@mantine/hooks";
import { useQuery } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useSubmitJob } from "../../../api/jobs";
import { runKeysQuery } from "../../../api/runs";
import { useStartSearch } from "../../../api/searches";
import { secretsQuery } from "../../../api/secrets";
import { useMemberProjects } from "../../../api/session";
import { CommandLine } from "../../../components/Copyable";
import { ErrorNotice } from "../../../components/ErrorNotice";
import { labelsProblem } from "../../../lib/labels";
import { shortId } from "../../../lib/names";
import { plural } from "../../../lib/quantity";
import { commandWords } from "../../../lib/shell";
import { DataRows } from "./DataRows";
import { commandLineOf, type Draft, gridOf, makesGrid, mountsProblem, requestOf } from "./draft";
import { GridNote, useGrid } from "./GridNote";
import { workspacesProblem } from "./jobWorkspaces";
import { Limits } from "./Limits";
import { OnSelect } from "./OnSelect";
import { PairRows } from "./PairRows";
import { WorkspaceRows } from "./WorkspaceRows";

interface Props {
  draft: Draft;
  onClose: () => void;
}

/** A command, its data and what it needs; below, the command line that does the same. */
export function NewJob({ draft, onClose }: Props) {
  const navigate = useNavigate();
  const submit = useSubmitJob();
  const start = useStartSearch();
  const form = useForm<Draft>({
    initialValues: draft,
    validate: {
      command: problemOf,
      nodeSelector: labelsProblem,
      mounts: mountsProblem,
      workspaces: workspacesProblem,
    },
  });
  const grid = useGrid(form.values);
  const send = (values: Draft) => {
    const { project } = values;
    if (makesGrid(values)) {
      start.mutate(
        { project, ...gridOf(values) },
        {
          onSuccess: ({ id: search }) => {
            onClose();
            void navigate({ to: "/projects/$project/searches/$search", params: { project, search } });
          },
        },
      );
      return;
    }
    submit.mutate(
      { project, ...requestOf(values) },
      {
        onSuccess: ({ id: job }) => {
          onClose();
          void navigate({ to: "/projects/$project/jobs/$job", params: { project, job } });
        },
      },
    );
  };
  const failed = submit.error ?? start.error;
  return (
    <Modal
      opened
      onClose={onClose}
      title="New job"
      size="xl"
      fullScreen={useMediaQuery("(max-width: 48em)")}
      closeButtonProps={{ "aria-label": "Close" }}
    >
      <form onSubmit={form.onSubmit(send)}>
        <Stack>
          <Where form={form} />
          <Textarea
            label="Command"
            description="Files in $MILL_OUTPUT are kept."
            required
            autosize
            minRows={2}
            data-autofocus
            classNames={{ input: "mono" }}
            {...form.getInputProps("command")}
          />
          <PairRows
            label="Parameters"
            description="Passed as --NAME VALUE, or where {NAME} stands in the command. Several values with commas between run a job for each combination."
            noun="parameter"
            placeholders={["lr", "0.1, 0.01"]}
            pairs={form.values.params}
            onChange={(params) => form.setFieldValue("params", params)}
          />
          <GridNote draft={form.values} grid={grid} onChange={(part) => form.setValues(part)} />
          <DataRows
            project={form.values.project}
            inputs={form.values.inputs}
            onChange={(inputs) => form.setFieldValue("inputs", inputs)}
          />
          <WorkspaceRows
            project={form.values.project}
            workspaces={form.values.workspaces}
            snapshots={form.values.snapshots}
            error={form.errors.workspaces}
            onChange={(workspaces, snapshots) => form.setValues({ workspaces, snapshots })}
          />
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
          {Number(form.values.processes) > 0 && (
            <Checkbox
              label="MPI program"
              description="Started by mpirun, which the job's packages or image must have."
              {...form.getInputProps("mpi", { type: "checkbox" })}
            />
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
          <PairRows
            label="Environment"
            description="Variables of the command. Use secrets for passwords and tokens."
            noun="variable"
            placeholders={["NAME", "value"]}
            pairs={form.values.env}
            onChange={(env) => form.setFieldValue("env", env)}
          />
          <SecretNames form={form} />
          <Limits form={form} />
          <Code draft={draft} form={form} />
          {failed && <ErrorNotice error={failed} />}
          <Button
            type="submit"
            loading={submit.isPending || start.isPending}
            disabled={grid.isGrid && grid.preview.isError}
          >
            {grid.isGrid && grid.jobs ? `Submit ${plural(grid.jobs, "job")}` : "Submit"}
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
  const experiments = useQuery(runKeysQuery({ project: form.values.project })).data?.experiments ?? [];
  return (
    <Group grow align="flex-start">
      <TextInput label="Name" placeholder="generated" autoComplete="off" {...form.getInputProps("name")} />
      <Autocomplete
        label="Experiment"
        placeholder="default"
        data={experiments}
        limit={20}
        maxLength={200}
        {...form.getInputProps("experiment")}
      />
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

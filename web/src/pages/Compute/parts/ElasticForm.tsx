import {
  Accordion,
  Autocomplete,
  Button,
  Checkbox,
  Modal,
  NumberInput,
  Select,
  SimpleGrid,
  Stack,
  TagsInput,
  Text,
  TextInput,
} from "@mantine/core";
import { type UseFormReturnType, useForm } from "@mantine/form";
import { useQuery } from "@tanstack/react-query";
import { elasticQuery } from "../../../api/elastic";
import { sitesQuery } from "../../../api/topology";
import { CommandLine } from "../../../components/Copyable";
import { ErrorNotice } from "../../../components/ErrorNotice";
import { durationProblem } from "../../../lib/duration";
import { labelsProblem } from "../../../lib/labels";
import { commandLineOf, type ElasticDraft, NEW_ELASTIC } from "./elasticDraft";

interface Props {
  /** True for one that does not exist yet. */
  isNew: boolean;
  before: ElasticDraft;
  busy: boolean;
  error: unknown;
  onSubmit: (draft: ElasticDraft) => void;
  onClose: () => void;
}

type Form = UseFormReturnType<ElasticDraft>;

/** Creates or changes an elastic compute. */
export function ElasticForm({ isNew, before, busy, error, onSubmit, onClose }: Props) {
  const form = useForm<ElasticDraft>({
    initialValues: before,
    validate: {
      options: labelsProblem,
      labels: labelsProblem,
      wait: durationProblem,
      idle: durationProblem,
      start: durationProblem,
      maximum: (maximum, { minimum }) => (Number(maximum) < Number(minimum) ? "At least the minimum." : null),
    },
  });
  return (
    <Modal
      opened
      onClose={onClose}
      size="lg"
      title={isNew ? "New elastic compute" : `Edit ${before.name}`}
      closeButtonProps={{ "aria-label": "Close" }}
    >
      <form onSubmit={form.onSubmit(onSubmit)}>
        <Stack>
          {isNew && (
            <TextInput
              label="Name"
              description="Machines are named after it. Lower-case letters, digits and -."
              placeholder="burst"
              required
              data-autofocus
              autoComplete="off"
              {...form.getInputProps("name")}
            />
          )}
          <Provisioner form={form} />
          <Size form={form} />
          <Limits form={form} />
          <More form={form} />
          {error != null && <ErrorNotice error={error} />}
          <TheSame
            command={commandLineOf(isNew ? "create" : "update", form.values, isNew ? NEW_ELASTIC : before)}
          />
          <Button type="submit" loading={busy}>
            {isNew ? "Create" : "Save"}
          </Button>
        </Stack>
      </form>
    </Modal>
  );
}

function Provisioner({ form }: { form: Form }) {
  const sites = useQuery(sitesQuery).data?.items.map(({ name }) => name) ?? [];
  const used = useQuery(elasticQuery).data?.items.map(({ provisioner }) => provisioner) ?? [];
  return (
    <>
      <SimpleGrid cols={{ base: 1, xs: 2 }}>
        <Autocomplete
          label="Provisioner"
          description="Its directory on the server."
          placeholder="aws"
          data={[...new Set(used)]}
          required
          {...form.getInputProps("provisioner")}
        />
        <Select
          label="Site"
          description="Where its machines are."
          data={[...new Set([...sites, form.values.site])]}
          allowDeselect={false}
          {...form.getInputProps("site")}
        />
      </SimpleGrid>
      <TagsInput
        label="Options"
        description="For the provisioner, KEY=VALUE, such as region=eu-central-1."
        acceptValueOnBlur
        {...form.getInputProps("options")}
      />
    </>
  );
}

/** What a machine has: jobs are meant for it by this. */
function Size({ form }: { form: Form }) {
  return (
    <SimpleGrid cols={{ base: 1, xs: 3 }}>
      <NumberInput
        label="GPUs of a machine"
        placeholder="0"
        min={0}
        max={1000}
        allowDecimal={false}
        {...form.getInputProps("gpus")}
      />
      <NumberInput
        label="CPUs of a machine"
        min={1}
        required
        allowDecimal={false}
        {...form.getInputProps("cpus")}
      />
      <NumberInput label="Memory (GB)" placeholder="0" min={0} {...form.getInputProps("memoryGb")} />
      <TextInput label="GPU type" placeholder="A100" {...form.getInputProps("gpuType")} />
      <NumberInput label="GPU memory (GB)" placeholder="0" min={0} {...form.getInputProps("gpuMemoryGb")} />
      <NumberInput label="Price per hour" placeholder="0" min={0} {...form.getInputProps("pricePerHour")} />
    </SimpleGrid>
  );
}

function Limits({ form }: { form: Form }) {
  return (
    <SimpleGrid cols={{ base: 1, xs: 3 }}>
      <NumberInput
        label="Min. machines"
        min={0}
        required
        allowDecimal={false}
        {...form.getInputProps("minimum")}
      />
      <NumberInput
        label="Max. machines"
        min={0}
        required
        allowDecimal={false}
        {...form.getInputProps("maximum")}
      />
      <TextInput label="Delete when idle for" placeholder="10m" required {...form.getInputProps("idle")} />
    </SimpleGrid>
  );
}

function More({ form }: { form: Form }) {
  return (
    <Accordion variant="contained">
      <Accordion.Item value="more">
        <Accordion.Control>Times, labels, driver and trust</Accordion.Control>
        <Accordion.Panel>
          <Stack>
            <TextInput label="Description" {...form.getInputProps("description")} />
            <SimpleGrid cols={{ base: 1, xs: 3 }}>
              <TextInput
                label="Create after waiting"
                description="How long a job waits first."
                placeholder="5s"
                {...form.getInputProps("wait")}
              />
              <TextInput
                label="Give up after"
                description="If its agent has not joined."
                placeholder="15m"
                {...form.getInputProps("start")}
              />
              <Select
                label="Driver"
                description="How jobs run there."
                data={["process", "podman"]}
                allowDeselect={false}
                {...form.getInputProps("driver")}
              />
            </SimpleGrid>
            <TagsInput
              label="Labels"
              description="Node labels of its machines, KEY=VALUE."
              acceptValueOnBlur
              {...form.getInputProps("labels")}
            />
            <Checkbox
              label="Allow all projects, even if their jobs share one account"
              {...form.getInputProps("trustAll", { type: "checkbox" })}
            />
          </Stack>
        </Accordion.Panel>
      </Accordion.Item>
    </Accordion>
  );
}

function TheSame({ command }: { command: string | null }) {
  if (command !== null) return <CommandLine command={command} wrap />;
  return (
    <Text size="sm" c="dimmed">
      The command line cannot remove options or labels.
    </Text>
  );
}

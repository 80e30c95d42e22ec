import {
  Accordion,
  Autocomplete,
  Button,
  Modal,
  NumberInput,
  Select,
  SimpleGrid,
  Stack,
  TagsInput,
  TextInput,
} from "@mantine/core";
import { type UseFormReturnType, useForm } from "@mantine/form";
import { useQuery } from "@tanstack/react-query";
import { computesQuery } from "../../../api/computes";
import { useComputeNames } from "../../../api/elastic";
import { CommandLine } from "../../../components/Copyable";
import { ErrorNotice } from "../../../components/ErrorNotice";
import { labelsProblem, writeLabels } from "../../../lib/labels";
import { commandLineOf, type TemplateDraft } from "./draft";

interface Props {
  /** True for a template that does not exist yet. */
  isNew: boolean;
  before: TemplateDraft;
  busy: boolean;
  error: unknown;
  onSubmit: (draft: TemplateDraft) => void;
  onClose: () => void;
}

type Form = UseFormReturnType<TemplateDraft>;

/** Creates or changes a template. What is left empty, each job says itself. */
export function TemplateForm({ isNew, before, busy, error, onSubmit, onClose }: Props) {
  const form = useForm<TemplateDraft>({
    initialValues: before,
    validate: { nodeSelector: labelsProblem, options: labelsProblem, env: labelsProblem },
  });
  return (
    <Modal
      opened
      onClose={onClose}
      size="lg"
      title={isNew ? "New template" : `Edit ${before.name}`}
      closeButtonProps={{ "aria-label": "Close" }}
    >
      <form onSubmit={form.onSubmit(onSubmit)}>
        <Stack>
          {isNew && (
            <TextInput
              label="Name"
              placeholder="gpu-real"
              required
              data-autofocus
              autoComplete="off"
              {...form.getInputProps("name")}
            />
          )}
          <TextInput label="Description" {...form.getInputProps("description")} />
          <Size form={form} />
          <More form={form} />
          {error != null && <ErrorNotice error={error} />}
          <CommandLine command={commandLineOf(isNew ? "create" : "update", form.values, before)} wrap />
          <Button type="submit" loading={busy}>
            {isNew ? "Create" : "Save"}
          </Button>
        </Stack>
      </form>
    </Modal>
  );
}

function Size({ form }: { form: Form }) {
  const computes = useQuery(computesQuery).data?.items ?? [];
  const names = useComputeNames();
  const models = [...new Set(computes.flatMap((one) => one.nodes.map((node) => node.gpu_model)))];
  return (
    <>
      <SimpleGrid cols={{ base: 1, xs: 3 }}>
        <Select
          label="Compute"
          placeholder="any"
          data={names}
          clearable
          clearButtonProps={{ "aria-label": "Any compute" }}
          {...form.getInputProps("compute")}
        />
        <Autocomplete
          label="GPU type"
          placeholder="any"
          data={models.filter(Boolean)}
          {...form.getInputProps("gpuType")}
        />
        <NumberInput label="Price per hour" placeholder="0" min={0} {...form.getInputProps("pricePerHour")} />
      </SimpleGrid>
      <SimpleGrid cols={{ base: 1, xs: 3 }}>
        <NumberInput
          label="GPUs"
          placeholder="as the job says"
          min={0}
          decimalScale={2}
          {...form.getInputProps("gpus")}
        />
        <NumberInput
          label="CPUs"
          placeholder="as the job says"
          min={0}
          allowDecimal={false}
          {...form.getInputProps("cpu")}
        />
        <NumberInput
          label="Memory (GB)"
          placeholder="as the job says"
          min={0}
          {...form.getInputProps("memoryGb")}
        />
      </SimpleGrid>
    </>
  );
}

function More({ form }: { form: Form }) {
  const nodes = useQuery(computesQuery).data?.items.flatMap((compute) => compute.nodes) ?? [];
  const labels = [...new Set(nodes.flatMap((node) => writeLabels(node.labels)))].sort();
  return (
    <Accordion variant="contained">
      <Accordion.Item value="more">
        <Accordion.Control>Image, labels, options and variables</Accordion.Control>
        <Accordion.Panel>
          <Stack>
            <SimpleGrid cols={{ base: 1, xs: 2 }}>
              <TextInput label="Image" placeholder="as the job says" {...form.getInputProps("image")} />
              <NumberInput
                label="Min. GPU memory (GB)"
                placeholder="any"
                min={0}
                {...form.getInputProps("minGpuMemoryGb")}
              />
            </SimpleGrid>
            <TagsInput
              label="Node selector"
              description="Labels the node must have, KEY=VALUE."
              data={labels}
              acceptValueOnBlur
              {...form.getInputProps("nodeSelector")}
            />
            <TagsInput
              label="Options"
              description="Driver options as KEY=VALUE, such as a Slurm partition."
              acceptValueOnBlur
              {...form.getInputProps("options")}
            />
            <TagsInput
              label="Environment variables"
              description="KEY=VALUE. A job's own variables win."
              acceptValueOnBlur
              {...form.getInputProps("env")}
            />
          </Stack>
        </Accordion.Panel>
      </Accordion.Item>
    </Accordion>
  );
}

import {
  Button,
  Modal,
  NumberInput,
  SimpleGrid,
  Stack,
  Switch,
  TagsInput,
  Text,
  TextInput,
} from "@mantine/core";
import { type UseFormReturnType, useForm } from "@mantine/form";
import { useQuery } from "@tanstack/react-query";
import { computesQuery } from "../../../api/computes";
import { CommandLine } from "../../../components/Copyable";
import { ErrorNotice } from "../../../components/ErrorNotice";
import { durationProblem } from "../../../lib/duration";
import { labelsProblem, writeLabels } from "../../../lib/labels";
import { commandLineOf, type SettingsDraft } from "./settings";

export interface ProjectDraft extends SettingsDraft {
  name: string;
}

interface Props {
  /** The project that is changed; without one, a project is created. */
  name?: string;
  before: SettingsDraft;
  busy: boolean;
  error: unknown;
  onSubmit: (draft: ProjectDraft) => void;
  onClose: () => void;
}

type Form = UseFormReturnType<ProjectDraft>;

/** Creates or changes a project: name, quota, and how its jobs share the GPUs with others. */
export function ProjectForm({ name, before, busy, error, onSubmit, onClose }: Props) {
  const form = useForm<ProjectDraft>({
    initialValues: { name: name ?? "", ...before },
    validate: {
      poolQuotas: poolsProblem,
      trainAffinity: labelsProblem,
      interactiveAffinity: labelsProblem,
      interactiveTime: durationProblem,
      interactiveIdle: durationProblem,
      minRuntime: durationProblem,
    },
  });
  const verb = name === undefined ? "create" : "update";
  return (
    <Modal
      opened
      onClose={onClose}
      size="lg"
      title={name === undefined ? "New project" : `Edit ${name}`}
      closeButtonProps={{ "aria-label": "Close" }}
    >
      <form onSubmit={form.onSubmit(onSubmit)}>
        <Stack>
          {name === undefined && (
            <TextInput
              label="Name"
              description="Lower-case letters, digits, '.', '_' and '-'"
              required
              data-autofocus
              autoComplete="off"
              {...form.getInputProps("name")}
            />
          )}
          <TextInput label="Description" {...form.getInputProps("description")} />
          <Amounts form={form} />
          <Affinities form={form} />
          <Times form={form} />
          {error != null && <ErrorNotice error={error} />}
          <CommandLine command={commandLineOf(verb, form.values.name, form.values, before)} wrap />
          <Button type="submit" loading={busy}>
            {name === undefined ? "Create" : "Save"}
          </Button>
        </Stack>
      </form>
    </Modal>
  );
}

function Amounts({ form }: { form: Form }) {
  const nodes = useQuery(computesQuery).data?.items.flatMap((compute) => compute.nodes) ?? [];
  const pools = [...new Set(nodes.flatMap((node) => node.labels?.pool ?? []))].sort();
  const amount = { min: 0, decimalScale: 2, step: 1 };
  return (
    <>
      <SimpleGrid cols={{ base: 1, xs: 3 }}>
        <NumberInput
          label="Quota (GPUs)"
          description="Guaranteed to the project."
          placeholder="0"
          {...amount}
          {...form.getInputProps("quota")}
        />
        <NumberInput
          label="Weight"
          description="For GPUs beyond all quotas."
          placeholder="as the quota"
          {...amount}
          {...form.getInputProps("weight")}
        />
        <NumberInput
          label="Limit (GPUs)"
          description="The most it can use at once."
          placeholder="none"
          {...amount}
          {...form.getInputProps("limit")}
        />
      </SimpleGrid>
      {(pools.length > 0 || form.values.poolQuotas.length > 0) && (
        <TagsInput
          label="Quotas of named pools"
          description="POOL=GPUS"
          data={pools.map((pool) => `${pool}=1`)}
          acceptValueOnBlur
          {...form.getInputProps("poolQuotas")}
        />
      )}
      <Switch
        label="Over-quota"
        description="Use idle GPUs beyond the quota. Jobs over quota can be preempted."
        {...form.getInputProps("overQuota", { type: "checkbox" })}
      />
    </>
  );
}

function Affinities({ form }: { form: Form }) {
  const nodes = useQuery(computesQuery).data?.items.flatMap((compute) => compute.nodes) ?? [];
  const labels = [...new Set(nodes.flatMap((node) => writeLabels(node.labels)))].sort();
  return (
    <SimpleGrid cols={{ base: 1, xs: 2 }}>
      <TagsInput
        label="Training nodes"
        description="Labels a node must have, KEY=VALUE."
        placeholder={form.values.trainAffinity.length ? undefined : "any node"}
        data={labels}
        acceptValueOnBlur
        {...form.getInputProps("trainAffinity")}
      />
      <TagsInput
        label="Interactive nodes"
        description="Labels a node must have, KEY=VALUE."
        placeholder={form.values.interactiveAffinity.length ? undefined : "any node"}
        data={labels}
        acceptValueOnBlur
        {...form.getInputProps("interactiveAffinity")}
      />
    </SimpleGrid>
  );
}

function Times({ form }: { form: Form }) {
  return (
    <>
      <SimpleGrid cols={{ base: 1, xs: 3 }}>
        <TextInput
          label="Interactive time limit"
          description="Stop it after this time."
          placeholder="none"
          {...form.getInputProps("interactiveTime")}
        />
        <TextInput
          label="Interactive idle limit"
          description="Stop it when unused."
          placeholder="none"
          {...form.getInputProps("interactiveIdle")}
        />
        <TextInput
          label="Minimum runtime"
          description="Before preemption."
          placeholder="none"
          {...form.getInputProps("minRuntime")}
        />
      </SimpleGrid>
      <Text size="xs" c="dimmed">
        Times are written as 90s, 15m, 8h or 1d.
      </Text>
    </>
  );
}

function poolsProblem(written: string[]): string | null {
  const wrong = written.find((one) => !/^[^=]+=\d+(\.\d{1,2})?$/.test(one));
  return wrong === undefined ? null : `Write ${wrong} as POOL=GPUS.`;
}

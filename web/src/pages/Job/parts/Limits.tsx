import {
  Accordion,
  Autocomplete,
  Checkbox,
  NumberInput,
  Select,
  SimpleGrid,
  Stack,
  TagsInput,
} from "@mantine/core";
import type { UseFormReturnType } from "@mantine/form";
import { useQuery } from "@tanstack/react-query";
import { computesQuery } from "../../../api/computes";
import { useComputeNames } from "../../../api/elastic";
import type { Compute } from "../../../api/shapes";
import { writeLabels } from "../../../lib/labels";
import type { Draft } from "./draft";

type Form = Pick<UseFormReturnType<Draft>, "getInputProps" | "values">;

/** What most jobs do without: where it may run, how long, how often it is tried, and what it comes after. */
export function Limits({ form }: { form: Form }) {
  const found = useQuery(computesQuery).data?.items ?? [];
  const computes = useComputeNames();
  const nodes = found.flatMap((compute) => compute.nodes);
  const models = [...new Set(nodes.map((node) => node.gpu_model))].filter(Boolean);
  const labels = [...new Set(nodes.flatMap((node) => writeLabels(node.labels)))].sort();
  const options = [...new Set(found.flatMap(choices))].sort();
  return (
    <Accordion variant="contained">
      <Accordion.Item value="limits">
        <Accordion.Control>Nodes, limits, mounts, retries and dependencies</Accordion.Control>
        <Accordion.Panel>
          <Stack>
            <SimpleGrid cols={{ base: 1, xs: 3 }}>
              <Select
                label="Compute"
                placeholder="any"
                data={computes}
                clearable
                {...form.getInputProps("compute")}
              />
              <NumberInput
                label="Priority"
                placeholder="0"
                min={-100}
                max={100}
                allowDecimal={false}
                {...form.getInputProps("priority")}
              />
              <Select
                label="Preemptible"
                placeholder="by kind"
                data={["yes", "no"]}
                clearable
                clearButtonProps={{ "aria-label": "By kind" }}
                {...form.getInputProps("preemptible")}
              />
              <NumberInput
                label="Grace (seconds)"
                placeholder="30"
                min={0}
                allowDecimal={false}
                {...form.getInputProps("graceSeconds")}
              />
              <NumberInput
                label="Time limit (minutes)"
                placeholder="none"
                min={0}
                {...form.getInputProps("timeoutMinutes")}
              />
              <Autocomplete
                label="GPU type"
                placeholder="any"
                data={models}
                {...form.getInputProps("gpuType")}
              />
              <NumberInput
                label="Min. GPU memory (GB)"
                placeholder="any"
                min={0}
                {...form.getInputProps("minGpuMemoryGb")}
              />
              <TagsInput
                label="Node labels"
                placeholder={form.values.nodeSelector.length ? undefined : "KEY=VALUE"}
                data={labels}
                acceptValueOnBlur
                {...form.getInputProps("nodeSelector")}
              />
            </SimpleGrid>
            <SimpleGrid cols={{ base: 1, xs: 3 }}>
              <NumberInput
                label="Retries"
                placeholder="0"
                min={0}
                max={100}
                allowDecimal={false}
                {...form.getInputProps("retries")}
              />
              <TagsInput
                label="Retry on"
                placeholder={form.values.retryOn.length ? undefined : "exit, signal"}
                data={["exit", "signal", "oom", "timeout", "any"]}
                disabled={Number(form.values.retries) === 0}
                {...form.getInputProps("retryOn")}
              />
            </SimpleGrid>
            {(options.length > 0 || form.values.options.length > 0) && (
              <TagsInput
                label="Options"
                description="Driver options as KEY=VALUE, such as a Slurm partition or account."
                data={options}
                acceptValueOnBlur
                {...form.getInputProps("options")}
              />
            )}
            <TagsInput
              label="Mounts"
              description="Shared directories, NAME:PATH or NAME:PATH:ro."
              acceptValueOnBlur
              {...form.getInputProps("mounts")}
            />
            <Checkbox
              label="Do not limit the size of /dev/shm"
              {...form.getInputProps("largeShm", { type: "checkbox" })}
            />
            <TagsInput
              label="After"
              description="Start after these jobs succeed. JOB:any: after they end."
              acceptValueOnBlur
              {...form.getInputProps("after")}
            />
          </Stack>
        </Accordion.Panel>
      </Accordion.Item>
    </Accordion>
  );
}

/** What jobs can ask of its driver, with the values that its nodes list; others are written by hand. */
function choices(compute: Compute): string[] {
  return Object.entries(compute.capabilities?.job_options ?? {}).flatMap(([option, label]) => {
    const listed = compute.nodes.flatMap((node) => node.labels[label]?.split(",") ?? []);
    return listed.map((value) => `${option}=${value}`);
  });
}

import { Paper, Stack, Text } from "@mantine/core";
import { IconTemplate } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";
import { createColumnHelper } from "@tanstack/react-table";
import { elasticQuery } from "../../api/elastic";
import { useSession } from "../../api/session";
import type { Template } from "../../api/shapes";
import { templatesQuery } from "../../api/templates";
import { CommandLine } from "../../components/Copyable";
import { DataTable } from "../../components/DataTable";
import { EmptyState } from "../../components/EmptyState";
import { Loaded } from "../../components/Loaded";
import { PageHeader } from "../../components/PageHeader";
import { TextLink } from "../../components/TextLink";
import { Time } from "../../components/Time";
import { writeLabels } from "../../lib/labels";
import { formatBytes } from "../../lib/quantity";
import { NewTemplateButton, TemplateActions } from "./parts/TemplateActions";

const column = createColumnHelper<Template>();

const COLUMNS = [
  column.accessor("name", { header: "Template", cell: ({ row }) => <Name template={row.original} /> }),
  column.accessor((template) => template.compute ?? "", {
    id: "compute",
    header: "Compute",
    cell: ({ row }) => <Place template={row.original} />,
  }),
  column.accessor("gpus", { header: "GPUs", cell: ({ row }) => gpuWords(row.original) }),
  column.accessor("cpu", { header: "CPUs", cell: ({ getValue }) => getValue() || "–" }),
  column.accessor("memory_bytes", {
    header: "Memory",
    cell: ({ getValue }) => (getValue() ? formatBytes(getValue()) : "–"),
  }),
  column.accessor((template) => template.image ?? "", { id: "image", header: "Image" }),
  column.accessor((template) => writeLabels(template.node_selector).join(", "), {
    id: "selector",
    header: "Node selector",
  }),
  column.accessor("price_per_hour", { header: "Price per hour", cell: ({ getValue }) => getValue() || "–" }),
  column.accessor("changed_at", {
    header: "Changed",
    cell: ({ row }) => (
      <>
        <Time at={row.original.changed_at} /> by {row.original.changed_by}
      </>
    ),
  }),
  column.display({
    id: "actions",
    header: "Actions",
    cell: ({ row }) => <TemplateActions template={row.original} />,
  }),
];

export function TemplateList() {
  const result = useQuery(templatesQuery);
  const isAdmin = useSession()?.user.is_admin ?? false;
  return (
    <>
      <PageHeader
        title="Templates"
        below={<Text c="dimmed">Named sizes on a compute. A job runs on one with --on NAME.</Text>}
        actions={<NewTemplateButton />}
      />
      <Loaded result={result}>
        {({ items }) =>
          items.length === 0 ? (
            <EmptyState
              docs="templates/"
              icon={IconTemplate}
              sentence="No templates yet. A template names a size on a compute, so that jobs need not spell it out."
              action={<NewTemplateButton />}
              command="mill template create gpu-real --compute dgx --gpu 1 --cpu 8 --memory 32GB"
            />
          ) : (
            <Stack>
              <Paper withBorder>
                <DataTable
                  label="Templates"
                  rows={items}
                  columns={isAdmin ? COLUMNS : COLUMNS.slice(0, -1)}
                  rowId={(template) => template.name}
                  minWidth={900}
                />
              </Paper>
              <CommandLine command="mill template list" />
            </Stack>
          )
        }
      </Loaded>
    </>
  );
}

function Name({ template }: { template: Template }) {
  return (
    <>
      <Text size="sm" fw={600} className="row-name">
        {template.name}
      </Text>
      {template.description && (
        <Text size="xs" c="dimmed" lineClamp={2}>
          {template.description}
        </Text>
      )}
    </>
  );
}

function Place({ template }: { template: Template }) {
  const elastic = useQuery(elasticQuery).data?.items ?? [];
  if (!template.compute) return "any";
  if (elastic.some(({ name }) => name === template.compute)) {
    return (
      <TextLink to="/compute" size="sm">
        {template.compute}
      </TextLink>
    );
  }
  return (
    <TextLink to="/compute/$compute" params={{ compute: template.compute }} size="sm">
      {template.compute}
    </TextLink>
  );
}

/** `2 × A100, 40.0 GB` */
function gpuWords({ gpus, gpu_type, min_gpu_memory_bytes }: Template): string {
  const count = gpus ? String(gpus) : "–";
  const kind = gpu_type ? `${gpus ? " × " : " "}${gpu_type}` : "";
  const memory = min_gpu_memory_bytes ? `, ${formatBytes(min_gpu_memory_bytes)} or more` : "";
  return count + kind + memory;
}

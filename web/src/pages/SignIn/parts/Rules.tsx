import { Button, Group, Paper, Select, TextInput } from "@mantine/core";
import { useForm } from "@mantine/form";
import { useQuery } from "@tanstack/react-query";
import { createColumnHelper } from "@tanstack/react-table";
import { projectsQuery } from "../../../api/projects";
import type { GroupRule, Role } from "../../../api/shapes";
import { rulesQuery, useCreateRule, useDeleteRule } from "../../../api/signIn";
import { DataTable } from "../../../components/DataTable";
import { BriefEmptyState } from "../../../components/EmptyState";
import { Loaded } from "../../../components/Loaded";
import { notifyDone, notifyError, tell } from "../../../components/notify";
import { Section } from "../../../components/Section";

const SITE = "(site)";
const EVERY = "all providers";
const ROLES = ["viewer", "member", "admin"];
const column = createColumnHelper<GroupRule>();

const COLUMNS = [
  column.accessor("group", { header: "Group" }),
  column.accessor("provider", { header: "Provider", cell: ({ getValue }) => getValue() ?? EVERY }),
  column.accessor((rule) => (rule.project ? `${rule.role} of ${rule.project}` : "site administrator"), {
    id: "gives",
    header: "Gives",
  }),
  column.accessor("created_by", { header: "By" }),
  column.display({ id: "actions", header: "Actions", cell: ({ row }) => <Remove rule={row.original} /> }),
];

/** What groups of providers give in projects, from the next sign-in of each on. */
export function Rules({ providers }: { providers: string[] }) {
  const result = useQuery(rulesQuery);
  return (
    <Section title="Rules" bare>
      <Loaded result={result}>
        {({ items }) =>
          items.length > 0 ? (
            <Paper withBorder>
              <DataTable label="Rules" rows={items} columns={COLUMNS} rowId={(one) => one.id} />
            </Paper>
          ) : (
            <BriefEmptyState words="No rules yet: groups give nobody a role." />
          )
        }
      </Loaded>
      <AddRule providers={providers} />
    </Section>
  );
}

function AddRule({ providers }: { providers: string[] }) {
  const projects = useQuery(projectsQuery).data?.items.map((one) => one.name) ?? [];
  const create = useCreateRule();
  const form = useForm({ initialValues: { group: "", target: "", role: "member", provider: EVERY } });
  const isSite = form.values.target === SITE;
  const submit = form.onSubmit(({ group, target, role, provider }) =>
    create.mutate(
      {
        group,
        project: isSite ? null : target,
        role: isSite ? null : (role as Role),
        provider: provider === EVERY ? null : provider,
      },
      { onSuccess: () => form.setFieldValue("group", ""), onError: notifyError },
    ),
  );
  return (
    <form onSubmit={submit}>
      <Group align="flex-end" mt="sm">
        <TextInput label="Group" required autoComplete="off" size="sm" {...form.getInputProps("group")} />
        <Select
          label="Project"
          data={[...projects, SITE]}
          allowDeselect={false}
          placeholder="Choose"
          required
          searchable
          size="sm"
          {...form.getInputProps("target")}
        />
        {!isSite && (
          <Select
            label="Role"
            data={ROLES}
            allowDeselect={false}
            size="sm"
            w={120}
            {...form.getInputProps("role")}
          />
        )}
        <Select
          label="Provider"
          data={[EVERY, ...providers]}
          allowDeselect={false}
          size="sm"
          {...form.getInputProps("provider")}
        />
        <Button type="submit" variant="light" size="sm" loading={create.isPending}>
          Add rule
        </Button>
      </Group>
    </form>
  );
}

function Remove({ rule }: { rule: GroupRule }) {
  const remove = useDeleteRule();
  return (
    <Button
      size="compact-sm"
      variant="default"
      loading={remove.isPending}
      aria-label={`Remove the rule of ${rule.group}`}
      onClick={() => tell(remove.mutateAsync(rule.id), () => notifyDone("The rule is removed."))}
    >
      Remove
    </Button>
  );
}

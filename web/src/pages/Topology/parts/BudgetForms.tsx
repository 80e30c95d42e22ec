import { Button, Group, Modal, NumberInput, Select, Stack, Text } from "@mantine/core";
import { useForm } from "@mantine/form";
import { useDisclosure } from "@mantine/hooks";
import { useQuery } from "@tanstack/react-query";
import { usePutEgressBudget, useRemoveEgressBudget } from "../../../api/egress";
import { projectsQuery } from "../../../api/projects";
import { useSession } from "../../../api/session";
import type { EgressBudget } from "../../../api/shapes";
import { CommandLine } from "../../../components/Copyable";
import { ErrorNotice } from "../../../components/ErrorNotice";
import { type BudgetDraft, budgetCommand, budgetDraft, budgetOf } from "./budgets";

/** For administrators: set a monthly budget, or change the one that is given. */
export function BudgetButton({ budget }: { budget?: EgressBudget }) {
  const [opened, dialog] = useDisclosure(false);
  if (!useSession()?.user.is_admin) return null;
  return (
    <>
      <Button
        size="compact-sm"
        variant="default"
        aria-label={budget ? `Change the budget of ${whoseBudget(budget)}` : undefined}
        onClick={dialog.open}
      >
        {budget ? "Change" : "Set budget"}
      </Button>
      {opened && <BudgetForm budget={budget} onClose={dialog.close} />}
    </>
  );
}

export function whoseBudget({ project }: Pick<EgressBudget, "project">): string {
  return project ? `project ${project}` : "all projects";
}

function BudgetForm({ budget, onClose }: { budget: EgressBudget | undefined; onClose: () => void }) {
  const put = usePutEgressBudget();
  const remove = useRemoveEgressBudget();
  const projects = useQuery(projectsQuery).data?.items ?? [];
  const form = useForm<BudgetDraft>({ initialValues: budgetDraft(budget) });
  const said = budgetOf(form.values);
  const project = form.values.project || null;
  const error = put.error ?? remove.error;
  return (
    <Modal
      opened
      onClose={onClose}
      title={budget ? `Monthly budget of ${whoseBudget(budget)}` : "Monthly egress budget"}
      closeButtonProps={{ "aria-label": "Close" }}
    >
      <form
        onSubmit={form.onSubmit(() => {
          if (said) put.mutate({ project, ...said }, { onSuccess: onClose });
        })}
      >
        <Stack>
          {!budget && (
            <Select
              label="Project"
              placeholder="all projects together"
              clearable
              searchable
              data={projects.map(({ name }) => name)}
              {...form.getInputProps("project")}
            />
          )}
          <Group grow align="flex-start">
            <NumberInput
              label="Money"
              placeholder="none"
              min={0}
              data-autofocus
              {...form.getInputProps("money")}
            />
            <NumberInput
              label="Or bytes (GB)"
              placeholder="none"
              min={0}
              {...form.getInputProps("gigabytes")}
            />
          </Group>
          <NumberInput label="Warn at (%)" min={1} max={100} {...form.getInputProps("warn")} />
          <Text size="sm" c="dimmed">
            Money in the unit of the prices of links. It counts what comes over links with a price in a month
            of UTC; when it is used up, no new fill over such a link begins.
          </Text>
          {error && <ErrorNotice error={error} />}
          <Group>
            <Button type="submit" disabled={said === null} loading={put.isPending}>
              Set
            </Button>
            {budget && (
              <Button
                variant="default"
                loading={remove.isPending}
                onClick={() => remove.mutate(budget.project, { onSuccess: onClose })}
              >
                Remove budget
              </Button>
            )}
          </Group>
          <div>
            <Text size="xs" c="dimmed" mb={2}>
              The same on the command line
            </Text>
            <CommandLine command={budgetCommand(project, said)} />
          </div>
        </Stack>
      </form>
    </Modal>
  );
}

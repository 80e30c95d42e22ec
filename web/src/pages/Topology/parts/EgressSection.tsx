import { Alert, Anchor, Group, Paper, Stack, Text, Title } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { createColumnHelper } from "@tanstack/react-table";
import { EGRESS_CSV, egressBudgetsQuery, egressQuery } from "../../../api/egress";
import type { EgressBudget, EgressReport } from "../../../api/shapes";
import { Chart } from "../../../components/Chart";
import { CommandLine } from "../../../components/Copyable";
import { DataTable } from "../../../components/DataTable";
import { Loaded } from "../../../components/Loaded";
import { formatBytes } from "../../../lib/quantity";
import { BudgetButton, whoseBudget } from "./BudgetForms";
import { type EgressSum, egressByDay, egressSums } from "./egressSums";

const column = createColumnHelper<EgressSum>();

const COLUMNS = [
  column.accessor("project", { header: "Project" }),
  column.accessor("link", { header: "Link" }),
  column.accessor("bytes", { header: "Bytes", cell: ({ getValue }) => formatBytes(getValue()) }),
  column.accessor("money", { header: "Money", cell: ({ getValue }) => getValue().toFixed(2) }),
];

/** What fills brought over links this month, what it costs, and budgets that are nearly used up. */
export function EgressSection() {
  const result = useQuery(egressQuery);
  const budgets = useQuery(egressBudgetsQuery).data?.items ?? [];
  return (
    <section aria-label="Egress this month">
      <Group justify="space-between" mb="xs" gap="xs">
        <Title order={2} size="h4">
          Egress this month
        </Title>
        <Group gap="xs">
          <Anchor href={EGRESS_CSV} size="sm" download>
            Download CSV
          </Anchor>
          <BudgetButton />
        </Group>
      </Group>
      <Stack gap="sm">
        {budgets.map((budget) => (
          <BudgetWords key={budget.project ?? ""} budget={budget} />
        ))}
        <Loaded result={result}>{(report) => <Report report={report} />}</Loaded>
      </Stack>
    </section>
  );
}

function Report({ report }: { report: EgressReport }) {
  if (report.rows.length === 0) return <Text size="sm">No bytes came over links since {report.since}.</Text>;
  return (
    <>
      <Text size="sm" c="dimmed">
        {formatBytes(report.total.bytes)}, {report.total.money.toFixed(2)} by the prices of links, since{" "}
        {report.since}.
      </Text>
      <Chart title="Bytes by day" data={egressByDay(report)} format={formatBytes} note="Days of UTC." />
      <Paper withBorder>
        <DataTable
          label="Egress by project and link"
          rows={egressSums(report)}
          columns={COLUMNS}
          rowId={({ project, link }) => `${project} ${link}`}
        />
      </Paper>
      <CommandLine command="mill egress --by project --by link" />
    </>
  );
}

function BudgetWords({ budget }: { budget: EgressBudget }) {
  const said = `Monthly budget of ${whoseBudget(budget)}: ${budget.text} used.`;
  if (budget.level === "ok")
    return (
      <Group gap="xs">
        <Text size="sm">{said}</Text>
        <BudgetButton budget={budget} />
      </Group>
    );
  return (
    <Alert color={budget.level === "exceeded" ? "red" : "yellow"} title={said}>
      <Group justify="space-between" gap="xs">
        <Text size="sm">
          {budget.level === "exceeded"
            ? "New fills over links with a price wait until the month ends, or an administrator raises it."
            : `From 100 % on, new fills over links with a price wait. A warning is shown from ${budget.warn_percent} % on.`}
        </Text>
        <BudgetButton budget={budget} />
      </Group>
    </Alert>
  );
}

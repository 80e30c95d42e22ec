import { Group, Paper, Select, Table, Text, UnstyledButton } from "@mantine/core";
import { IconArrowDown, IconArrowUp } from "@tabler/icons-react";
import { trialPages } from "../../../api/searches";
import type { JobState, Search, Trial, TrialState } from "../../../api/shapes";
import { CommandLine } from "../../../components/Copyable";
import { Duration } from "../../../components/Duration";
import { Pages } from "../../../components/Pages";
import { Status } from "../../../components/Status";
import { formatMetric } from "../../../lib/metric";
import { type SearchSearch, TRIAL_STATES } from "../tabs";
import { TrialLink } from "./BestTrials";
import { objectiveValue } from "./trials";

interface Props {
  search: Search;
  shown: SearchSearch;
  onChange: (part: SearchSearch) => void;
}

/** All trials, sorted and narrowed by the server. */
export function TrialsTab({ search, shown, onChange }: Props) {
  const place = { project: search.project, search: search.id };
  const order = { sort: shown.sort, desc: shown.desc, state: shown.state };
  const choose = (state: string | null) =>
    onChange({ state: (state as TrialState | null) ?? undefined, page: undefined });
  return (
    <>
      <Group mb="md" justify="space-between">
        <Select
          aria-label="State of trials"
          placeholder="Any state"
          data={TRIAL_STATES.map((state) => ({
            value: state,
            label: `${state} (${search.counts[state] ?? 0})`,
          }))}
          value={shown.state ?? null}
          onChange={choose}
          clearable
          clearButtonProps={{ "aria-label": "Any state" }}
          w={190}
        />
        <CommandLine
          command={`mill search trials ${search.id}${shown.sort ? ` --sort ${shown.sort}` : ""}`}
        />
      </Group>
      <Pages
        list={JSON.stringify([search.id, order])}
        query={trialPages(place, order)}
        page={shown.page}
        onTurn={(page) => onChange({ page })}
        inOrder={false}
        empty={<Text>No trials.</Text>}
      >
        {(trials) => (
          <Paper withBorder>
            <TrialTable search={search} trials={trials} shown={shown} onChange={onChange} />
          </Paper>
        )}
      </Pages>
    </>
  );
}

function TrialTable({ search, trials, shown, onChange }: Props & { trials: Trial[] }) {
  const names = search.parameters.map((parameter) => parameter.name);
  const best = new Set(search.best.map((trial) => trial.number));
  const head = { shown, onChange };
  return (
    <Table.ScrollContainer
      minWidth={700}
      scrollAreaProps={{ viewportProps: { tabIndex: 0, "aria-label": "Trials" } }}
    >
      <Table aria-label="Trials" verticalSpacing={6}>
        <Table.Thead>
          <Table.Tr>
            <SortHead {...head} by="number" label="Trial" />
            <SortHead {...head} by="state" label="State" />
            {search.objectives.map(({ metric }) => (
              <SortHead key={metric} {...head} by={metric} label={metric} />
            ))}
            {names.map((name) => (
              <SortHead key={name} {...head} by={`param.${name}`} label={name} />
            ))}
            <Table.Th>Job</Table.Th>
            <Table.Th>Running</Table.Th>
            <Table.Th>Why it ended</Table.Th>
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {trials.map((trial) => (
            <Table.Tr key={trial.number}>
              <Table.Td>
                <TrialLink project={search.project} trial={trial} />
                {best.has(trial.number) && (
                  <Text size="xs" fw={600}>
                    best
                  </Text>
                )}
              </Table.Td>
              <Table.Td>
                <Status state={trial.state} />
              </Table.Td>
              {search.objectives.map(({ metric }, index) => (
                <Table.Td key={metric}>{valueCell(search, trial, index)}</Table.Td>
              ))}
              {names.map((name) => (
                <Table.Td key={name} style={{ overflowWrap: "anywhere" }}>
                  {paramCell(trial.params[name])}
                </Table.Td>
              ))}
              <Table.Td>
                {trial.job_state ? <Status state={trial.job_state as JobState} size="sm" /> : "–"}
              </Table.Td>
              <Table.Td>
                <Duration start={trial.started_at ?? null} end={trial.ended_at} />
              </Table.Td>
              <Table.Td maw={320} style={{ overflowWrap: "anywhere" }}>
                {trial.problem ?? "–"}
              </Table.Td>
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </Table.ScrollContainer>
  );
}

function valueCell(search: Search, trial: Trial, place: number): string {
  const value = objectiveValue(trial, search.objectives, place);
  return value === null ? "–" : formatMetric(value);
}

function paramCell(value: Trial["params"][string] | undefined): string {
  if (value === undefined) return "–";
  return typeof value === "number" ? formatMetric(value) : String(value);
}

interface HeadProps extends Pick<Props, "shown" | "onChange"> {
  /** As the server names it. */
  by: string;
  label: string;
}

/** Sorts all trials, not only those of this page. */
function SortHead({ shown, onChange, by, label }: HeadProps) {
  const isSorted = (shown.sort ?? "number") === by;
  const order = !isSorted ? "none" : shown.desc ? "descending" : "ascending";
  const turn = () =>
    onChange({ sort: by, desc: isSorted && !shown.desc ? true : undefined, page: undefined });
  return (
    <Table.Th aria-sort={order}>
      <UnstyledButton onClick={turn} fw={700} fz="sm">
        <Group gap={4} wrap="nowrap">
          {label}
          {order === "ascending" && <IconArrowUp size={14} aria-hidden />}
          {order === "descending" && <IconArrowDown size={14} aria-hidden />}
        </Group>
      </UnstyledButton>
    </Table.Th>
  );
}

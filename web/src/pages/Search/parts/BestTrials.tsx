import { Table, Text } from "@mantine/core";
import type { Search, Trial } from "../../../api/shapes";
import { CopyIcon } from "../../../components/Copyable";
import { Section } from "../../../components/Section";
import { TextLink } from "../../../components/TextLink";
import { formatMetric } from "../../../lib/metric";

const SHOWN = 10;

/** The best trial; with several objectives, all that no other beats in everything. */
export function BestTrials({ search }: { search: Search }) {
  const title = search.objectives.length > 1 ? "Best trials" : "Best trial";
  const rest = search.best.length - SHOWN;
  return (
    <Section title={title}>
      {search.best.length === 0 ? (
        <Text p="md" size="sm" c="dimmed">
          No trial has succeeded yet.
        </Text>
      ) : (
        <Table.ScrollContainer
          minWidth={480}
          scrollAreaProps={{ viewportProps: { tabIndex: 0, "aria-label": title } }}
        >
          <Table aria-label={title} verticalSpacing={6}>
            <Table.Thead>
              <Table.Tr>
                <Table.Th>Trial</Table.Th>
                {search.objectives.map(({ metric }) => (
                  <Table.Th key={metric}>{metric}</Table.Th>
                ))}
                <Table.Th>Parameters</Table.Th>
              </Table.Tr>
            </Table.Thead>
            <Table.Tbody>
              {search.best.slice(0, SHOWN).map((trial) => (
                <Row key={trial.number} search={search} trial={trial} />
              ))}
            </Table.Tbody>
          </Table>
        </Table.ScrollContainer>
      )}
      {rest > 0 && (
        <Text p="xs" size="sm" c="dimmed">
          And {rest} more: see Front.
        </Text>
      )}
    </Section>
  );
}

function Row({ search, trial }: { search: Search; trial: Trial }) {
  const written = Object.entries(trial.params)
    .map(([name, value]) => `${name}=${value}`)
    .join("  ");
  return (
    <Table.Tr>
      <Table.Td>
        <TrialLink project={search.project} trial={trial} />
      </Table.Td>
      {search.objectives.map(({ metric }, index) => {
        const value = trial.values[index];
        return (
          <Table.Td key={metric} fw={600}>
            {value === undefined ? "–" : formatMetric(value)}
          </Table.Td>
        );
      })}
      <Table.Td className="mono" style={{ overflowWrap: "anywhere" }}>
        {written}
        <CopyIcon value={written} label={`Copy the parameters of trial ${trial.number}`} />
      </Table.Td>
    </Table.Tr>
  );
}

/** Leads to the job and run of a trial; one whose job is not submitted yet is only a number. */
export function TrialLink({ project, trial }: { project: string; trial: Trial }) {
  if (!trial.job) return <>Trial {trial.number}</>;
  return (
    <TextLink to="/projects/$project/jobs/$job" params={{ project, job: trial.job }} size="sm">
      Trial {trial.number}
    </TextLink>
  );
}

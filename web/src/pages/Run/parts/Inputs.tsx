import { Table, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { commitQuery } from "../../../api/commits";
import type { CachedState, Job } from "../../../api/shapes";
import { CommitLink } from "../../../components/CommitLink";
import { Section } from "../../../components/Section";
import { Status } from "../../../components/Status";
import { splitWritten } from "../../../lib/names";
import { formatBytes, formatSeconds } from "../../../lib/quantity";
import type { Recorded } from "../tabs";
import { ScriptInputs } from "./ScriptInputs";

const COLUMNS = ["Dataset", "Variable", "Size", "Cached on"];

/** The commits it read, where they are cached, and how long loading them took. */
export function Inputs({ run, job }: Recorded) {
  const said = run.inputs ?? [];
  return (
    <Section title="Data" bare={!job?.inputs.length && said.length === 0}>
      {job && job.inputs.length > 0 && <OfJob job={job} />}
      {said.length > 0 && <ScriptInputs inputs={said} />}
      {!job?.inputs.length && said.length === 0 && (
        <Text size="sm" c="dimmed">
          No datasets.
        </Text>
      )}
    </Section>
  );
}

function OfJob({ job }: { job: Job }) {
  return (
    <Table.ScrollContainer
      minWidth={560}
      scrollAreaProps={{ viewportProps: { tabIndex: 0, "aria-label": "Data" } }}
    >
      <Table aria-label="Data" fz="sm">
        <Table.Thead>
          <Table.Tr>
            {COLUMNS.map((word) => (
              <Table.Th key={word}>{word}</Table.Th>
            ))}
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {job.inputs.map((input) => (
            <Row key={input.env} input={input} />
          ))}
        </Table.Tbody>
      </Table>
      {job.ledger.fill !== null && (
        <Text size="sm" c="dimmed" p="xs">
          Loading data took {formatSeconds(job.ledger.fill)}.
        </Text>
      )}
    </Table.ScrollContainer>
  );
}

function Row({ input }: { input: Job["inputs"][number] }) {
  const { project, name } = splitWritten(input.dataset);
  const { data: commit } = useQuery(commitQuery({ project, dataset: name, ref: input.commit_id }));
  return (
    <Table.Tr>
      <Table.Td>
        <CommitLink project={project} dataset={name} commit={input.commit_id} name={input.dataset} />
      </Table.Td>
      <Table.Td className="mono">${input.env}</Table.Td>
      <Table.Td>{commit ? formatBytes(commit.bytes) : "–"}</Table.Td>
      <Table.Td>
        {commit?.cached_on.map((cached) => (
          <div key={cached.cached_id}>
            {cached.volume} <Status state={cached.state as CachedState} size="sm" />
          </div>
        ))}
        {commit?.cached_on.length === 0 && "not cached"}
      </Table.Td>
    </Table.Tr>
  );
}

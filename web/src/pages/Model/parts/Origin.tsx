import { Group, Paper, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { jobQuery } from "../../../api/jobs";
import { runQuery } from "../../../api/runs";
import type { ModelVersion } from "../../../api/shapes";
import { CommitLink } from "../../../components/CommitLink";
import { CopyIcon } from "../../../components/Copyable";
import { type Fact, Facts } from "../../../components/Facts";
import { Section } from "../../../components/Section";
import { TextLink } from "../../../components/TextLink";
import { WrittenCommit } from "./WrittenCommit";

/** The run, job, code and data that a version was made from. */
export function Origin({ version }: { version: ModelVersion }) {
  const { project } = version;
  const facts: Fact[] = [
    ...(version.run ? [{ name: "Run", value: <RunName project={project} run={version.run} /> }] : []),
    ...(version.job ? [{ name: "Job", value: <JobName project={project} job={version.job} /> }] : []),
    ...(version.step
      ? [{ name: "Flow step", value: <StepName project={project} step={version.step} /> }]
      : []),
    ...(version.code
      ? [{ name: "Code", value: <CommitLink project={project} dataset=".code" commit={version.code} /> }]
      : []),
    {
      name: "Data",
      value:
        version.inputs.length === 0
          ? "none recorded"
          : version.inputs.map((written) => (
              <div key={written}>
                <WrittenCommit written={written} />
              </div>
            )),
    },
    ...(version.flavors.length > 0 ? [{ name: "Flavors", value: version.flavors.join(", ") }] : []),
    {
      name: "Source",
      value: (
        <Text span size="sm" className="mono">
          {version.source}
        </Text>
      ),
    },
    {
      name: "Commit",
      value: (
        <Group gap={4} wrap="nowrap" mt={-4}>
          <CommitLink project={project} dataset={version.dataset} commit={version.commit} />
          <CopyIcon value={version.commit} label="Copy the commit id" />
        </Group>
      ),
    },
  ];
  return (
    <Section title="Made from" bare>
      <Paper withBorder p="md">
        <Facts facts={facts} />
      </Paper>
    </Section>
  );
}

/** By its name as long as it is there, by its id for ever. */
function RunName({ project, run }: { project: string; run: string }) {
  const found = useQuery(runQuery({ project, run })).data;
  if (!found) return <span className="mono">{run}</span>;
  return (
    <TextLink to="/projects/$project/runs/$run" params={{ project, run }} size="sm">
      {found.name}
    </TextLink>
  );
}

function JobName({ project, job }: { project: string; job: string }) {
  const found = useQuery(jobQuery({ project, job })).data;
  if (!found) return <span className="mono">{job}</span>;
  return (
    <TextLink to="/projects/$project/jobs/$job" params={{ project, job }} size="sm">
      {found.written}
    </TextLink>
  );
}

/** `FLOW-RUN/STEP`. */
function StepName({ project, step }: { project: string; step: string }) {
  const [run = "", name = ""] = step.split("/");
  return (
    <TextLink
      to="/projects/$project/flow-runs/$run"
      params={{ project, run }}
      search={{ step: name || undefined }}
      size="sm"
    >
      {step}
    </TextLink>
  );
}

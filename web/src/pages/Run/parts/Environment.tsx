import { Paper, Table } from "@mantine/core";
import type { Job } from "../../../api/shapes";
import { CommitLink } from "../../../components/CommitLink";
import { type Fact, Facts } from "../../../components/Facts";
import { JobLink } from "../../../components/JobLink";
import { Section } from "../../../components/Section";
import type { Recorded } from "../tabs";
import { FilteredRows } from "./FilteredRows";
import { originOf } from "./origin";

/** What the code ran in: image or machine, Python, packages, variables. */
export function Environment({ run, job }: Recorded) {
  const origin = originOf(run);
  const facts: (Fact | false)[] = [
    job !== null && { name: "Image", value: job.image ?? "the machine's own" },
    job?.environment_source != null && { name: "Package environment", value: <Built job={job} /> },
    origin.python !== "" && { name: "Python", value: origin.python },
    origin.os !== "" && { name: "Operating system", value: origin.os },
    origin.host !== "" && { name: "Host", value: origin.host },
    origin.directory !== "" && { name: "Directory", value: <span className="mono">{origin.directory}</span> },
  ];
  return (
    <Section title="Environment" bare>
      <Paper withBorder>
        <Paper p="md">
          <Facts facts={facts.filter((fact) => fact !== false)} />
        </Paper>
        {job && Object.keys(job.env).length > 0 && <Variables env={job.env} />}
        {origin.packages.length > 0 && <Packages packages={origin.packages} />}
      </Paper>
    </Section>
  );
}

/** The packages it runs with, and the job that built them. */
function Built({ job }: { job: Job }) {
  return (
    <>
      <CommitLink project={job.project} dataset=".outputs" commit={job.environment_commit} />
      {job.environment_job && (
        <>
          {" built by "}
          <JobLink project={job.project} job={job.environment_job}>
            {job.environment_job}
          </JobLink>
        </>
      )}
    </>
  );
}

function Variables({ env }: { env: Readonly<Record<string, string>> }) {
  return (
    <FilteredRows label="Environment variables" names={Object.keys(env).sort()} empty="">
      {(name) => (
        <Table.Tr key={name}>
          <Table.Th scope="row" w="30%" fw={500} className="mono">
            {name}
          </Table.Th>
          <Table.Td className="mono" style={{ overflowWrap: "anywhere" }}>
            {env[name]}
          </Table.Td>
        </Table.Tr>
      )}
    </FilteredRows>
  );
}

function Packages({ packages }: { packages: readonly string[] }) {
  return (
    <FilteredRows label="Packages" names={packages} empty="">
      {(written) => {
        const [name, version] = written.split("==");
        return (
          <Table.Tr key={written}>
            <Table.Th scope="row" w="50%" fw={500} className="mono">
              {name}
            </Table.Th>
            <Table.Td className="mono">{version}</Table.Td>
          </Table.Tr>
        );
      }}
    </FilteredRows>
  );
}

import { Stack, Text } from "@mantine/core";
import { CommitLink } from "../../../components/CommitLink";
import { Section } from "../../../components/Section";
import type { Recorded, RunSearch } from "../tabs";
import { Environment } from "./Environment";
import { FileBrowser } from "./FileBrowser";
import { GitState } from "./GitState";
import { Inputs } from "./Inputs";
import { Outputs } from "./Outputs";
import { originOf } from "./origin";

interface Props extends Recorded {
  search: RunSearch;
  onSearch: (search: RunSearch) => void;
}

/** Everything a run was made of: code, packages, data; and what it made. */
export function CodeTab({ run, job, search, onSearch }: Props) {
  const { git } = originOf(run);
  const code = job?.code_commit ?? null;
  return (
    <Stack gap="xl">
      <Inputs run={run} job={job} />
      <Section
        title="Code"
        bare
        actions={code && <CommitLink project={run.project} dataset=".code" commit={code} />}
      >
        {code ? (
          <FileBrowser
            title="Code"
            tree={{ project: run.project, dataset: ".code", ref: code }}
            search={{ ...search, tab: "code" }}
            onSearch={onSearch}
          />
        ) : (
          <Text size="sm" c="dimmed">
            {job
              ? "The job was submitted without code."
              : "A script's files are not kept: see its Git commit."}
          </Text>
        )}
      </Section>
      {git && <GitState git={git} />}
      <Environment run={run} job={job} />
      {job && <Outputs job={job} />}
    </Stack>
  );
}

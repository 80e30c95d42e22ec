import { Group, Paper, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { commitQuery } from "../../../api/commits";
import type { Job } from "../../../api/shapes";
import { CommitLink } from "../../../components/CommitLink";
import { Loaded } from "../../../components/Loaded";
import { Section } from "../../../components/Section";
import { WaitingRows } from "../../../components/Waiting";
import { formatBytes, plural } from "../../../lib/quantity";
import { DownloadFolder } from "../../Dataset/parts/DownloadFolder";
import { isFinished } from "../../Job/parts/states";

const OUTPUTS = ".outputs";

/** What the job left in `$MILL_OUTPUT`: a commit. */
export function Outputs({ job }: { job: Job }) {
  const commit = job.output_commit;
  return (
    <Section title="Outputs" bare>
      {commit ? (
        <Made job={job} commit={commit} />
      ) : (
        <Text size="sm" c="dimmed">
          {isFinished(job.state)
            ? "No files in $MILL_OUTPUT."
            : "Files in $MILL_OUTPUT are kept when the job succeeds."}
        </Text>
      )}
    </Section>
  );
}

function Made({ job, commit }: { job: Job; commit: string }) {
  const place = { project: job.project, dataset: OUTPUTS, ref: commit };
  const result = useQuery(commitQuery(place));
  return (
    <Paper withBorder p="md">
      <Group justify="space-between" gap="xs">
        <Loaded result={result} waiting={<WaitingRows rows={1} />}>
          {({ files, bytes }) => (
            <Text size="sm" component="div">
              <CommitLink project={job.project} dataset={OUTPUTS} commit={commit} />
              {` · ${plural(files, "file")} · ${formatBytes(bytes)}`}
            </Text>
          )}
        </Loaded>
        <DownloadFolder place={{ ...place, path: "" }} />
      </Group>
    </Paper>
  );
}

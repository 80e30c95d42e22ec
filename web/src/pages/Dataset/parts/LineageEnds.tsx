import { Text } from "@mantine/core";
import type { LineageCommit, LineageStep } from "../../../api/shapes";
import { TextLink } from "../../../components/TextLink";
import { shortId } from "../../../lib/names";

/** One end of a step: a commit, which may be gone, or none. */
export function LineageEnd({ commit, none }: { commit: LineageCommit | null; none: string }) {
  if (!commit) return <Dim>{none}</Dim>;
  const { project, dataset } = commit;
  if (!project || !dataset) return <Dim>{shortId(commit.id)} (deleted)</Dim>;
  return (
    <TextLink
      to="/projects/$project/datasets/$dataset"
      params={{ project, dataset }}
      search={{ tab: "commit", ref: commit.id }}
      size="sm"
      title={commit.message ?? undefined}
      style={{ overflowWrap: "anywhere" }}
    >
      {project}/{dataset}@{shortId(commit.id)}
    </TextLink>
  );
}

/** Who or what made it: a job or run that is still there is a link. */
export function LineageMaker({ step }: { step: LineageStep }) {
  const { kind, id } = step.maker;
  const project = step.maker_project;
  if (kind === "job" && project) {
    return (
      <TextLink to="/projects/$project/jobs/$job" params={{ project, job: id }} size="sm">
        job {step.maker_name}
      </TextLink>
    );
  }
  if (kind === "run" && project) {
    return (
      <TextLink to="/projects/$project/runs/$run" params={{ project, run: id }} size="sm">
        run {step.maker_name}
      </TextLink>
    );
  }
  return <Dim>{[kind, id].filter(Boolean).join(" ")}</Dim>;
}

function Dim({ children }: { children: React.ReactNode }) {
  return (
    <Text size="sm" c="dimmed" component="span" style={{ overflowWrap: "anywhere" }}>
      {children}
    </Text>
  );
}

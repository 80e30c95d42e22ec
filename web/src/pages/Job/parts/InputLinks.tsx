import type { Job } from "../../../api/shapes";
import { TextLink } from "../../../components/TextLink";
import { shortId, splitWritten } from "../../../lib/names";

interface Props {
  project: string;
  dataset: string;
  commit: string | null;
  /** What the link says before the commit. */
  name?: string;
}

/** Leads to the files of one commit. */
export function CommitLink({ project, dataset, commit, name }: Props) {
  if (!commit) return <>–</>;
  return (
    <TextLink
      to="/projects/$project/datasets/$dataset"
      params={{ project, dataset }}
      search={{ tab: "files", ref: commit }}
      size="sm"
    >
      {name && `${name}@`}
      <span className="mono">{shortId(commit)}</span>
    </TextLink>
  );
}

export function InputLinks({ inputs }: { inputs: Job["inputs"] }) {
  if (inputs.length === 0) return <>none</>;
  return inputs.map((input) => {
    const { project, name } = splitWritten(input.dataset);
    return (
      <div key={input.env}>
        <CommitLink project={project} dataset={name} commit={input.commit_id} name={input.dataset} /> in{" "}
        <span className="mono">${input.env}</span>
      </div>
    );
  });
}

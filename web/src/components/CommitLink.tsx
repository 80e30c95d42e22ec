import { shortId } from "../lib/names";
import { TextLink } from "./TextLink";

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

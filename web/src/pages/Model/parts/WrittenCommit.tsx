import { CommitLink } from "../../../components/CommitLink";
import { shortId, splitWritten } from "../../../lib/names";

/** `project/dataset@commit` as a link; of a bare id, only the id is known. */
export function WrittenCommit({ written }: { written: string }) {
  const at = written.lastIndexOf("@");
  if (at < 0) return <span className="mono">{shortId(written)}</span>;
  const { project, name } = splitWritten(written.slice(0, at));
  return <CommitLink project={project} dataset={name} commit={written.slice(at + 1)} name={name} />;
}

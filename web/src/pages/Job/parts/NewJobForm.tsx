import { emptyDraft } from "./draft";
import { NewJob } from "./NewJob";

/** The form with nothing in it yet. */
export function NewJobForm({ project, onClose }: { project: string; onClose: () => void }) {
  return <NewJob draft={emptyDraft(project)} onClose={onClose} />;
}

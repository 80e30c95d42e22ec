import { useChangeRun } from "../../../api/runs";
import { useMay } from "../../../api/session";
import type { RunDetails } from "../../../api/shapes";
import { EditableMarkdown } from "../../../components/EditableMarkdown";

/** What people wrote about a run. */
export function Notes({ run }: { run: RunDetails }) {
  const may = useMay(run.project, "member");
  const change = useChangeRun({ project: run.project, run: run.id });
  return (
    <EditableMarkdown
      title="Notes"
      text={run.notes ?? ""}
      hint="What was tried, and what came of it."
      may={may}
      onSave={(notes) => change.mutateAsync({ notes })}
    />
  );
}

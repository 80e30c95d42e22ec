import { useChangeRun } from "../../../api/runs";
import { useMay } from "../../../api/session";
import type { RunDetails } from "../../../api/shapes";
import { tell } from "../../../components/notify";
import { TagEditor } from "../../../components/TagEditor";
import { ownTags } from "./tagNames";

/** Tags of a run; those that tools keep for themselves are elsewhere on the page. */
export function Tags({ run }: { run: RunDetails }) {
  const may = useMay(run.project, "member");
  const change = useChangeRun({ project: run.project, run: run.id });
  const put = (tags: Record<string, string | null>) => void tell(change.mutateAsync({ tags }));
  return <TagEditor tags={run.tags} names={ownTags(run.tags)} may={may} onPut={put} />;
}

import { Select } from "@mantine/core";
import { useChangeVersion } from "../../../api/models";
import { useMay } from "../../../api/session";
import type { ModelStage, ModelVersion } from "../../../api/shapes";
import { notifyDone, tell } from "../../../components/notify";
import { STAGES, StageBadge } from "./StageBadge";

/** The stage of a version, chosen by those who may. Others keep theirs. */
export function StageSelect({ version }: { version: ModelVersion }) {
  const may = useMay(version.project, "member");
  const change = useChangeVersion({
    project: version.project,
    model: version.model,
    version: String(version.version),
  });
  if (!may) return <StageBadge stage={version.stage} />;
  const choose = (stage: string | null) =>
    stage &&
    tell(change.mutateAsync({ stage: stage as ModelStage }), () =>
      notifyDone(`Version ${version.version} is in stage ${stage}.`),
    );
  return (
    <Select
      size="xs"
      w={130}
      aria-label={`Stage of version ${version.version}`}
      data={[...STAGES]}
      value={version.stage}
      onChange={choose}
      allowDeselect={false}
      disabled={change.isPending}
    />
  );
}

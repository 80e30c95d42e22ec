import { Button } from "@mantine/core";
import { IconArrowBackUp, IconTrash } from "@tabler/icons-react";
import { useDeleteRun, useUndeleteRun } from "../../../api/runs";
import { useMay } from "../../../api/session";
import type { Run } from "../../../api/shapes";
import { notifyDone, notifyUndo, tell } from "../../../components/notify";

/** Delete and restore of a run without a job; a job's run goes and comes with its job. */
export function RunActions({ run }: { run: Run }) {
  const may = useMay(run.project, "member");
  const remove = useDeleteRun();
  const restore = useUndeleteRun();
  if (!may) return null;
  const place = { project: run.project, run: run.id };
  const bringBack = () => tell(restore.mutateAsync(place), () => notifyDone(`${run.name} is back.`));
  const moveToBin = () =>
    tell(remove.mutateAsync(place), () => notifyUndo(`${run.name} is in the bin for 30 days.`, bringBack));
  return run.deleted_at ? (
    <Button variant="default" leftSection={<IconArrowBackUp size={16} aria-hidden />} onClick={bringBack}>
      Restore
    </Button>
  ) : (
    <Button
      variant="default"
      leftSection={<IconTrash size={16} aria-hidden />}
      loading={remove.isPending}
      onClick={moveToBin}
    >
      Delete
    </Button>
  );
}

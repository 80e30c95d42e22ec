import { useDeleteMirror, usePauseMirror, useRunMirror } from "../../../api/mirrors";
import type { Mirror } from "../../../api/shapes";
import { RunActions } from "./RunActions";

export function MirrorActions({ mirror }: { mirror: Mirror }) {
  const run = useRunMirror(mirror.project);
  const pause = usePauseMirror(mirror.project);
  const remove = useDeleteMirror(mirror.project);
  return (
    <RunActions
      name={mirror.name}
      state={mirror.state}
      explanation="What it has put at its target stays there."
      run={() => run.mutateAsync(mirror.id)}
      pause={(paused) => pause.mutateAsync({ mirror: mirror.id, paused })}
      remove={() => remove.mutateAsync(mirror.id)}
      busy={run.isPending || pause.isPending || remove.isPending}
      error={remove.error}
    />
  );
}

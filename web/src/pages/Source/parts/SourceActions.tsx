import type { Source } from "../../../api/shapes";
import { useDeleteSource, usePauseSource, useRunSource } from "../../../api/sources";
import { RunActions } from "./RunActions";

export function SourceActions({ source }: { source: Source }) {
  const run = useRunSource(source.project);
  const pause = usePauseSource(source.project);
  const remove = useDeleteSource(source.project);
  return (
    <RunActions
      name={source.name}
      state={source.state}
      explanation="Imported files stay in the dataset."
      run={() => run.mutateAsync(source.id)}
      pause={(paused) => pause.mutateAsync({ source: source.id, paused })}
      remove={() => remove.mutateAsync(source.id)}
      busy={run.isPending || pause.isPending || remove.isPending}
      error={remove.error}
    />
  );
}

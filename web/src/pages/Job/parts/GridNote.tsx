import { Alert, Group, NumberInput, Switch, Text } from "@mantine/core";
import { useDebouncedValue } from "@mantine/hooks";
import { IconGridDots } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";
import { ApiError } from "../../../api/problem";
import { searchPreviewQuery } from "../../../api/searches";
import { shellLine } from "../../../lib/names";
import { plural } from "../../../lib/quantity";
import { type Draft, gridOf, makesGrid } from "./draft";
import { listsValues } from "./params";

/** How many jobs a grid makes: null while it is none, undefined while it is not known. */
export function useGrid(draft: Draft) {
  const [settled] = useDebouncedValue(draft, 250);
  const isGrid = makesGrid(draft) && makesGrid(settled);
  const preview = useQuery({ ...searchPreviewQuery(settled.project, gridOf(settled)), enabled: isGrid });
  return { isGrid: makesGrid(draft), preview, jobs: isGrid ? preview.data?.max_trials : undefined };
}

interface Props {
  draft: Draft;
  grid: ReturnType<typeof useGrid>;
  onChange: (part: Partial<Draft>) => void;
}

/** What a grid would run, before anything is started; asks whether commas in the command are meant as one. */
export function GridNote({ draft, grid, onChange }: Props) {
  return (
    <>
      {listsValues(draft.command) && (
        <Switch
          label="Run a job for each combination of the values with commas in the command"
          checked={draft.commandGrid}
          onChange={(event) => onChange({ commandGrid: event.currentTarget.checked })}
        />
      )}
      {grid.isGrid && (
        <Alert variant="light" icon={<IconGridDots />} title={titleOf(grid)} role="status">
          {grid.preview.error instanceof ApiError && <Text size="sm">{grid.preview.error.message}</Text>}
          {grid.preview.data?.first.slice(0, 3).map((trial, place) => (
            <Text key={place} size="xs" className="mono" truncate>
              {shellLine(trial.command)}
            </Text>
          ))}
          <Group mt="xs" gap="xs">
            <Text size="sm">At once</Text>
            <NumberInput
              size="xs"
              w={80}
              aria-label="Jobs at once"
              min={1}
              max={1000}
              allowDecimal={false}
              value={draft.parallel}
              onChange={(parallel) => onChange({ parallel })}
            />
          </Group>
        </Alert>
      )}
    </>
  );
}

function titleOf({ preview, jobs }: ReturnType<typeof useGrid>): string {
  if (preview.error) return "This grid cannot be run";
  return jobs === undefined ? "A grid of jobs" : `A grid of ${plural(jobs, "job")}, one for each combination`;
}

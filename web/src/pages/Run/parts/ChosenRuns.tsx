import { Button, Checkbox, Group, Text } from "@mantine/core";
import { IconArrowsDiff } from "@tabler/icons-react";
import { useNavigate } from "@tanstack/react-router";
import { createContext, useContext } from "react";
import type { Run } from "../../../api/shapes";
import { plural } from "../../../lib/quantity";

/** Rows are drawn by the table: what is chosen reaches them this way. */
interface Choosing {
  readonly ids: readonly string[];
  /** The project of the chosen runs, as far as it is known: only runs of one project are compared. */
  readonly project: string | undefined;
  readonly onChange: (ids: string[]) => void;
}

export const ChosenRuns = createContext<Choosing>({ ids: [], project: undefined, onChange: () => {} });

export function RunChoice({ run }: { run: Run }) {
  const { ids, project, onChange } = useContext(ChosenRuns);
  const isChosen = ids.includes(run.id);
  return (
    <Checkbox
      aria-label={`Select ${run.name}`}
      checked={isChosen}
      disabled={!isChosen && project !== undefined && project !== run.project}
      onChange={() => onChange(isChosen ? ids.filter((id) => id !== run.id) : [...ids, run.id])}
    />
  );
}

/** How many runs are selected, and what can be done with them. */
export function ChosenBar() {
  const { ids, project, onChange } = useContext(ChosenRuns);
  const navigate = useNavigate();
  if (ids.length === 0) return null;
  const compare = () => {
    if (!project) return;
    const search = { runs: ids.join(",") };
    void navigate({ to: "/projects/$project/runs/compare", params: { project }, search });
  };
  return (
    <Group mb="xs" gap="xs" role="group" aria-label="Selected runs">
      <Text size="sm" fw={600} aria-live="polite">
        {plural(ids.length, "run")} selected
      </Text>
      <Button
        size="xs"
        leftSection={<IconArrowsDiff size={14} aria-hidden />}
        disabled={!project}
        onClick={compare}
      >
        Compare
      </Button>
      <Button size="xs" variant="subtle" onClick={() => onChange([])}>
        Clear selection
      </Button>
    </Group>
  );
}

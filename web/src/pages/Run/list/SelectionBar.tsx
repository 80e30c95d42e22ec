import { Button, Group, Text } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { IconArrowBackUp, IconArrowsDiff, IconFileTypeCsv, IconTag, IconTrash } from "@tabler/icons-react";
import { useNavigate } from "@tanstack/react-router";
import { useMemo, useState } from "react";
import { type BulkRunChange, someRuns, useChangeRuns } from "../../../api/runs";
import { useMay } from "../../../api/session";
import type { Run, RunKeys } from "../../../api/shapes";
import { notifyDone, notifyPartly, notifyUndo, tell } from "../../../components/notify";
import { useKeyboard } from "../../../hooks/useKeyboard";
import { plural } from "../../../lib/quantity";
import { readChoice } from "../../../lib/storage";
import { csvOf, saveFile } from "./exporting";
import { type Field, writeFields, writeText } from "./fields";
import { TagDialog } from "./TagDialog";

interface Props {
  ids: readonly string[];
  project: string | undefined;
  fields: readonly Field[];
  keys: RunKeys | undefined;
  /** They lie in the bin. */
  deleted: boolean;
  onNone: () => void;
}

/** How many runs are selected, and what can be done with them, also with those on other pages. */
export function SelectionBar({ ids, project = "", fields, keys, deleted, onNone }: Props) {
  const navigate = useNavigate();
  const may = useMay(project, "member");
  const change = useChangeRuns();
  const [tagging, dialog] = useDisclosure(false);
  const [busy, setBusy] = useState(false);
  const bindings = useMemo(
    () => ({
      c: () =>
        void navigate({
          to: "/projects/$project/runs/compare",
          params: { project },
          search: { runs: ids.join(",") },
        }),
    }),
    [navigate, project, ids],
  );
  useKeyboard(bindings, project !== "" && ids.length > 0 && readChoice("keys") !== "off");
  const chosen = (columns: string): Promise<Run[]> => {
    const filter = `id in (${ids.map(writeText).join(", ")})`;
    return someRuns({ project, filter, columns, deleted }, ids.length);
  };
  const act = (wanted: BulkRunChange, done: (runs: Run[]) => void) =>
    chosen("state").then((runs) => apply(runs, wanted, done));
  const apply = (runs: Run[], wanted: BulkRunChange, done: (runs: Run[]) => void) =>
    tell(change.mutateAsync({ runs, change: wanted }), (outcome) => {
      if (outcome.problems.length > 0) notifyPartly(outcome.done.length, outcome.problems);
      if (outcome.done.length > 0) done(outcome.done);
    });
  const restore = (runs: Run[]) =>
    apply(runs, { what: "undelete" }, (back) => notifyDone(`${counted(back)} back.`));
  const remove = () =>
    act({ what: "delete" }, (gone) => {
      onNone();
      notifyUndo(`${counted(gone)} in the bin for 30 days.`, () => void restore(gone));
    });
  const write = () => {
    setBusy(true);
    void tell(chosen(writeFields(fields)), (runs) =>
      saveFile(`runs-${project}.csv`, csvOf(runs, fields)),
    ).finally(() => setBusy(false));
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
        onClick={bindings.c}
      >
        Compare
      </Button>
      {may && !deleted && (
        <Button
          size="xs"
          variant="default"
          leftSection={<IconTag size={14} aria-hidden />}
          onClick={dialog.open}
        >
          Tag
        </Button>
      )}
      <Button
        size="xs"
        variant="default"
        leftSection={<IconFileTypeCsv size={14} aria-hidden />}
        loading={busy}
        onClick={write}
      >
        Export
      </Button>
      {may && (
        <Button
          size="xs"
          variant="default"
          leftSection={
            deleted ? <IconArrowBackUp size={14} aria-hidden /> : <IconTrash size={14} aria-hidden />
          }
          loading={change.isPending}
          onClick={() =>
            deleted ? void chosen("state").then((runs) => restore(runs).then(onNone)) : void remove()
          }
        >
          {deleted ? "Restore" : "Delete"}
        </Button>
      )}
      <Button size="xs" variant="subtle" onClick={onNone}>
        Clear selection
      </Button>
      {tagging && (
        <TagDialog
          count={ids.length}
          keys={keys}
          busy={change.isPending}
          onClose={dialog.close}
          onSave={(tags) =>
            void act({ what: "tag", tags }, (runs) => {
              dialog.close();
              notifyDone(`${counted(runs)} tagged.`);
            })
          }
        />
      )}
    </Group>
  );
}

function counted(runs: readonly Run[]): string {
  return runs.length === 1 ? `${runs[0]?.name} is` : `${plural(runs.length, "run")} are`;
}

import { Button, Group, Stack, Text, Textarea } from "@mantine/core";
import { IconPencil } from "@tabler/icons-react";
import { lazy, Suspense, useState } from "react";
import { useChangeRun } from "../../../api/runs";
import { useMay } from "../../../api/session";
import type { RunDetails } from "../../../api/shapes";
import { ErrorNotice } from "../../../components/ErrorNotice";
import { Section } from "../../../components/Section";
import { WaitingRows } from "../../../components/Waiting";

const Markdown = lazy(() => import("../../Dataset/parts/readme/Markdown"));

/** What people wrote about a run, as Markdown; edited in place. */
export function Notes({ run }: { run: RunDetails }) {
  const may = useMay(run.project, "member");
  const [editing, setEditing] = useState(false);
  const notes = run.notes ?? "";
  if (!may && !notes) return null;
  const edit = (
    <Button
      variant="subtle"
      size="compact-sm"
      leftSection={<IconPencil size={14} aria-hidden />}
      onClick={() => setEditing(true)}
    >
      {notes ? "Edit notes" : "Add notes"}
    </Button>
  );
  return (
    <Section title="Notes" actions={may && !editing && edit} bare>
      {editing && <Editor run={run} onClose={() => setEditing(false)} />}
      {!editing && notes && (
        <Suspense fallback={<WaitingRows rows={2} />}>
          <Markdown text={notes} />
        </Suspense>
      )}
      {!editing && !notes && (
        <Text size="sm" c="dimmed">
          What was tried, and what came of it.
        </Text>
      )}
    </Section>
  );
}

function Editor({ run, onClose }: { run: RunDetails; onClose: () => void }) {
  const change = useChangeRun({ project: run.project, run: run.id });
  const [text, setText] = useState(run.notes ?? "");
  const save = () => change.mutate({ notes: text }, { onSuccess: onClose });
  return (
    <Stack gap="xs">
      <Textarea
        aria-label="Notes"
        description="Markdown. Ctrl+Enter saves, Escape cancels."
        autosize
        minRows={4}
        maxRows={20}
        autoFocus
        value={text}
        onChange={(event) => setText(event.currentTarget.value)}
        onKeyDown={(event) => {
          if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) save();
          if (event.key === "Escape") onClose();
        }}
      />
      {change.error && <ErrorNotice error={change.error} />}
      <Group gap="xs">
        <Button size="xs" onClick={save} loading={change.isPending}>
          Save notes
        </Button>
        <Button size="xs" variant="default" onClick={onClose}>
          Cancel
        </Button>
      </Group>
    </Stack>
  );
}

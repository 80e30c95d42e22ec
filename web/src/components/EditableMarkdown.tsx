import { Button, Group, Stack, Text, Textarea } from "@mantine/core";
import { IconPencil } from "@tabler/icons-react";
import { lazy, Suspense, useState } from "react";
import { ErrorNotice } from "./ErrorNotice";
import { Section } from "./Section";
import { WaitingRows } from "./Waiting";

const Markdown = lazy(() => import("../pages/Dataset/parts/readme/Markdown"));

interface Props {
  /** A heading, like "Notes". */
  title: string;
  text: string;
  /** Shown where there is no text yet. */
  hint: string;
  /** The viewer may change it. */
  may: boolean;
  onSave: (text: string) => Promise<unknown>;
}

/** What people wrote about something, as Markdown; edited in place. Nothing for those who may not write one. */
export function EditableMarkdown({ title, text, hint, may, onSave }: Props) {
  const [editing, setEditing] = useState(false);
  if (!may && !text) return null;
  const name = title.toLowerCase();
  const edit = (
    <Button
      variant="subtle"
      size="compact-sm"
      leftSection={<IconPencil size={14} aria-hidden />}
      onClick={() => setEditing(true)}
    >
      {text ? `Edit ${name}` : `Add ${name}`}
    </Button>
  );
  return (
    <Section title={title} actions={may && !editing && edit} bare>
      {editing && <Editor {...{ title, text, onSave }} onClose={() => setEditing(false)} />}
      {!editing && text && (
        <Suspense fallback={<WaitingRows rows={2} />}>
          <Markdown text={text} />
        </Suspense>
      )}
      {!editing && !text && (
        <Text size="sm" c="dimmed">
          {hint}
        </Text>
      )}
    </Section>
  );
}

function Editor({
  title,
  text,
  onSave,
  onClose,
}: Pick<Props, "title" | "text" | "onSave"> & { onClose: () => void }) {
  const [draft, setDraft] = useState(text);
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>(null);
  const save = () => {
    setBusy(true);
    onSave(draft).then(onClose, (problem) => {
      setError(problem);
      setBusy(false);
    });
  };
  return (
    <Stack gap="xs">
      <Textarea
        aria-label={title}
        description="Markdown. Ctrl+Enter saves, Escape cancels."
        autosize
        minRows={4}
        maxRows={20}
        autoFocus
        value={draft}
        onChange={(event) => setDraft(event.currentTarget.value)}
        onKeyDown={(event) => {
          if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) save();
          if (event.key === "Escape") onClose();
        }}
      />
      {error != null && <ErrorNotice error={error} />}
      <Group gap="xs">
        <Button size="xs" onClick={save} loading={busy}>
          Save {title.toLowerCase()}
        </Button>
        <Button size="xs" variant="default" onClick={onClose}>
          Cancel
        </Button>
      </Group>
    </Stack>
  );
}

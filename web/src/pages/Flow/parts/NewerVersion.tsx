/** Somebody else saved the flow while this page has unsaved changes: what to do about it. */
import { Alert, Button, Group, Modal, Text } from "@mantine/core";
import { IconUsers } from "@tabler/icons-react";
import { useState } from "react";
import { TextDiff } from "../../../components/TextDiff";
import { Time } from "../../../components/Time";
import type { Draft } from "../editor/draft";

export function NewerVersion({ draft }: { draft: Draft }) {
  const [isComparing, setIsComparing] = useState(false);
  const { newer, base } = draft;
  if (!newer) return null;
  return (
    <Alert
      role="alert"
      color="orange"
      mb="md"
      icon={<IconUsers />}
      title={`${newer.saved_by} saved version ${newer.newest} meanwhile`}
    >
      <Text size="sm" mb="xs">
        Saved <Time at={newer.saved_at} />. Your changes are based on version {base.newest} and not saved yet.
      </Text>
      <Group gap="xs">
        <Button size="xs" variant="default" onClick={() => setIsComparing(true)}>
          Show the differences
        </Button>
        <Button size="xs" variant="default" onClick={draft.takeNewer}>
          Take version {newer.newest}
        </Button>
        <Button size="xs" variant="default" onClick={draft.keepMine}>
          Keep mine
        </Button>
      </Group>
      <Modal
        opened={isComparing}
        onClose={() => setIsComparing(false)}
        size="xl"
        title={`From version ${newer.newest} to yours`}
        closeButtonProps={{ "aria-label": "Close" }}
      >
        <TextDiff before={newer.text ?? ""} after={draft.text} />
      </Modal>
    </Alert>
  );
}

import { Autocomplete, Button, Group, Modal, Stack } from "@mantine/core";
import { useState } from "react";
import type { RunKeys } from "../../../api/shapes";
import { plural } from "../../../lib/quantity";

interface Props {
  count: number;
  keys: RunKeys | undefined;
  busy: boolean;
  onClose: () => void;
  onSave: (tags: Record<string, string | null>) => void;
}

/** One tag for all selected runs; without a value it is removed. */
export function TagDialog({ count, keys, busy, onClose, onSave }: Props) {
  const [key, setKey] = useState("");
  const [value, setValue] = useState("");
  const known = keys?.tags ?? [];
  const values = known.find((tag) => tag.key === key)?.values ?? [];
  return (
    <Modal
      opened
      onClose={onClose}
      title={`Tag ${plural(count, "run")}`}
      closeButtonProps={{ "aria-label": "Close" }}
    >
      <form
        onSubmit={(event) => {
          event.preventDefault();
          onSave({ [key.trim()]: value.trim() || null });
        }}
      >
        <Stack>
          <Group grow align="flex-start">
            <Autocomplete
              label="Tag"
              data={known.map((tag) => tag.key)}
              limit={20}
              value={key}
              onChange={setKey}
              maxLength={250}
              required
              data-autofocus
            />
            <Autocomplete
              label="Value"
              placeholder="empty: remove the tag"
              data={values}
              limit={20}
              value={value}
              onChange={setValue}
            />
          </Group>
          <Button type="submit" loading={busy} disabled={key.trim() === ""}>
            {value.trim() ? "Set tag" : "Remove tag"}
          </Button>
        </Stack>
      </form>
    </Modal>
  );
}

import { Button, Modal, Stack, TextInput } from "@mantine/core";
import { useState } from "react";
import { useChangeRun } from "../../../api/runs";
import type { RunDetails } from "../../../api/shapes";
import { ErrorNotice } from "../../../components/ErrorNotice";

/** Another name for a run; that of a job is its own and stays. */
export function RenameRun({ run, onClose }: { run: RunDetails; onClose: () => void }) {
  const change = useChangeRun({ project: run.project, run: run.id });
  const [name, setName] = useState(run.name);
  const save = (event: React.FormEvent) => {
    event.preventDefault();
    change.mutate({ name: name.trim() }, { onSuccess: onClose });
  };
  return (
    <Modal opened onClose={onClose} title="Rename the run" closeButtonProps={{ "aria-label": "Close" }}>
      <form onSubmit={save}>
        <Stack>
          <TextInput
            label="Name"
            data-autofocus
            required
            maxLength={200}
            value={name}
            onChange={(event) => setName(event.currentTarget.value)}
          />
          {change.error && <ErrorNotice error={change.error} />}
          <Button type="submit" loading={change.isPending} disabled={!name.trim()}>
            Rename
          </Button>
        </Stack>
      </form>
    </Modal>
  );
}

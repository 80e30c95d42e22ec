import { ActionIcon, Button, Group, Modal, Stack, Text, TextInput, Tooltip } from "@mantine/core";
import { IconTrash } from "@tabler/icons-react";
import { useState } from "react";
import type { DatasetPlace } from "../../../api/datasets";
import { useRemovePaths, useRevert } from "../../../api/histories";
import type { TreeEntry } from "../../../api/shapes";
import { CommandLine } from "../../../components/Copyable";
import { ErrorNotice } from "../../../components/ErrorNotice";
import { notifyDone, notifyUndo, tell } from "../../../components/notify";
import { shellQuote, shortId } from "../../../lib/names";
import { plural } from "../../../lib/quantity";

interface Props {
  entry: TreeEntry;
  place: DatasetPlace;
  branch: string;
}

/** Takes one file or directory out of a branch, as a commit. */
export function RemovePath(props: Props) {
  const [opened, setOpened] = useState(false);
  const label = `Remove ${props.entry.name}`;
  return (
    <>
      <Tooltip label={label}>
        <ActionIcon
          variant="subtle"
          color="gray"
          size="sm"
          aria-label={label}
          onClick={() => setOpened(true)}
        >
          <IconTrash size={15} />
        </ActionIcon>
      </Tooltip>
      {opened && <RemoveDialog {...props} onClose={() => setOpened(false)} />}
    </>
  );
}

function RemoveDialog({ entry, place, branch, onClose }: Props & { onClose: () => void }) {
  const remove = useRemovePaths(place);
  const revert = useRevert(place);
  const [message, setMessage] = useState("");
  const recursive = entry.kind === "directory";
  const bringBack = (commit: string) =>
    tell(revert.mutateAsync({ commit, branch, message: "" }), () => notifyDone(`${entry.name} is back.`));
  const start = async () => {
    const made = await remove.mutateAsync({ branch, removes: [entry.path], recursive, message });
    onClose();
    notifyUndo(`${entry.name} was removed by commit ${shortId(made.id)}.`, () => bringBack(made.id));
  };
  const words = message ? ` -m ${shellQuote(message)}` : "";
  const written = shellQuote(`${place.project}/${place.dataset}@${branch}:${entry.path}`);
  return (
    <Modal
      opened
      onClose={onClose}
      title={`Remove ${entry.name}?`}
      size="lg"
      closeButtonProps={{ "aria-label": "Close" }}
    >
      <Stack>
        <Text size="sm">
          Adds a commit to <b>{branch}</b> without {entry.path}
          {recursive && ` and its ${plural(entry.files, "file")}`}. Older commits keep{" "}
          {recursive ? "them" : "it"}.
        </Text>
        <TextInput
          label="Message"
          placeholder={`Remove ${entry.path}`}
          value={message}
          onChange={(event) => setMessage(event.currentTarget.value)}
        />
        {remove.error && <ErrorNotice error={remove.error} />}
        <Group justify="flex-end">
          <Button variant="default" onClick={onClose}>
            Cancel
          </Button>
          {/* What went wrong is shown above. */}
          <Button
            color="red.9"
            onClick={() => void start().catch(() => {})}
            loading={remove.isPending}
            data-autofocus
          >
            Remove
          </Button>
        </Group>
        <CommandLine command={`mill data rm ${recursive ? "-r " : ""}${written}${words}`} />
      </Stack>
    </Modal>
  );
}

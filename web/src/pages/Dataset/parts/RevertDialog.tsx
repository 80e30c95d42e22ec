import { Button, Modal, Select, Stack, Text, TextInput } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { refsQuery } from "../../../api/datasets";
import { useRevert } from "../../../api/histories";
import type { Commit, Dataset } from "../../../api/shapes";
import { CommandLine } from "../../../components/Copyable";
import { notifyDone } from "../../../components/notify";
import { shellQuote, shortId } from "../../../lib/names";
import { ConflictNotice } from "./ConflictNotice";

interface Props {
  dataset: Dataset;
  commit: Commit;
  onClose: () => void;
}

/** Undoes what one commit changed, as a new commit; what came after it stays. */
export function RevertDialog({ dataset, commit, onClose }: Props) {
  const place = { project: dataset.project, dataset: dataset.name };
  const navigate = useNavigate();
  const revert = useRevert(place);
  const refs = useQuery(refsQuery(place)).data?.items ?? [];
  const branches = refs.filter((ref) => ref.type === "branch").map((ref) => ref.name);
  const [branch, setBranch] = useState(dataset.default_branch);
  const [message, setMessage] = useState("");
  const start = () =>
    revert.mutate(
      { commit: commit.id, branch, message },
      {
        onSuccess: (made) => {
          onClose();
          notifyDone(`${branch} is at ${shortId(made.id)} now.`);
          void navigate({
            to: "/projects/$project/datasets/$dataset",
            params: place,
            search: { tab: "commit", ref: made.id },
          });
        },
      },
    );
  const words = message ? ` -m ${shellQuote(message)}` : "";
  const written = shellQuote(`${place.project}/${place.dataset}@${shortId(commit.id)}`);
  return (
    <Modal opened onClose={onClose} title="Revert" size="lg" closeButtonProps={{ "aria-label": "Close" }}>
      <Stack>
        <Text size="sm">
          What <b>{commit.message || shortId(commit.id)}</b> changed is undone by a new commit. What came
          after it stays.
        </Text>
        <Select
          label="On the branch"
          data={branches}
          value={branch}
          onChange={(name) => name && setBranch(name)}
          allowDeselect={false}
        />
        <TextInput
          label="Message"
          placeholder={`Revert ${shortId(commit.id)}: ${commit.message}`}
          value={message}
          onChange={(event) => setMessage(event.currentTarget.value)}
        />
        {revert.error && <ConflictNotice error={revert.error} />}
        <Button onClick={start} loading={revert.isPending}>
          Revert
        </Button>
        <CommandLine command={`mill data revert ${written} --branch ${shellQuote(branch)}${words}`} />
      </Stack>
    </Modal>
  );
}

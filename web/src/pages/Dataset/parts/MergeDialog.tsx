import { Button, Modal, Select, Stack, Text, TextInput } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { refsQuery } from "../../../api/datasets";
import { useMerge } from "../../../api/histories";
import type { Dataset } from "../../../api/shapes";
import { CommandLine } from "../../../components/Copyable";
import { notifyDone } from "../../../components/notify";
import { shellQuote, shortRef } from "../../../lib/names";
import { ConflictNotice } from "./ConflictNotice";

interface Props {
  dataset: Dataset;
  source: string;
  /** The branch to suggest; the default branch if there is none. */
  into?: string;
  onClose: () => void;
}

/** Brings what one ref changed to a branch. Paths that both sides changed are named, and nothing happens then. */
export function MergeDialog({ dataset, source, into, onClose }: Props) {
  const place = { project: dataset.project, dataset: dataset.name };
  const navigate = useNavigate();
  const merge = useMerge(place);
  const refs = useQuery(refsQuery(place)).data?.items ?? [];
  const branches = refs.filter((ref) => ref.type === "branch" && ref.name !== source).map((ref) => ref.name);
  const suggested = [into, dataset.default_branch].find((name) => name && branches.includes(name));
  const [target, setTarget] = useState(suggested ?? branches[0] ?? "");
  const [message, setMessage] = useState("");
  const start = () =>
    merge.mutate(
      { source, into: target, message },
      {
        onSuccess: (commit) => {
          onClose();
          notifyDone(`${target} is at ${shortRef(commit.id)} now.`);
          void navigate({
            to: "/projects/$project/datasets/$dataset",
            params: place,
            search: { tab: "commit", ref: commit.id },
          });
        },
      },
    );
  const words = message ? ` -m ${shellQuote(message)}` : "";
  const written = shellQuote(`${place.project}/${place.dataset}@${shortRef(source)}`);
  return (
    <Modal opened onClose={onClose} title="Merge" size="lg" closeButtonProps={{ "aria-label": "Close" }}>
      <Stack>
        <Text size="sm">
          What <b>{shortRef(source)}</b> changed since the two parted is brought to the branch, path by path.
        </Text>
        <Select
          label="Into the branch"
          data={branches}
          value={target}
          onChange={(name) => name && setTarget(name)}
          allowDeselect={false}
        />
        <TextInput
          label="Message"
          placeholder={`Merge ${shortRef(source)} into ${target}`}
          value={message}
          onChange={(event) => setMessage(event.currentTarget.value)}
        />
        {merge.error && <ConflictNotice error={merge.error} />}
        <Button onClick={start} loading={merge.isPending} disabled={!target}>
          Merge
        </Button>
        <CommandLine
          command={`mill data merge ${written} --into ${shellQuote(target || "BRANCH")}${words}`}
        />
      </Stack>
    </Modal>
  );
}

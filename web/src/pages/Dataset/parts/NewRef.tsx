import { Button, Modal, Stack, Text, TextInput } from "@mantine/core";
import { useForm } from "@mantine/form";
import { useNavigate } from "@tanstack/react-router";
import type { DatasetPlace } from "../../../api/datasets";
import { useCreateRef } from "../../../api/histories";
import { CommandLine } from "../../../components/Copyable";
import { ErrorNotice } from "../../../components/ErrorNotice";
import { notifyDone } from "../../../components/notify";
import { shellQuote, shortRef } from "../../../lib/names";

interface Props {
  place: DatasetPlace;
  type: "branch" | "tag";
  /** The ref or commit it begins at. */
  at: string;
  onClose: () => void;
}

/** Names a commit: by a branch, which goes on from there, or by a tag, which never moves. */
export function NewRef({ place, type, at, onClose }: Props) {
  const navigate = useNavigate();
  const create = useCreateRef(place);
  const form = useForm({ initialValues: { name: "" } });
  const submit = form.onSubmit(({ name }) =>
    create.mutate(
      { name: name.trim(), type, at },
      {
        onSuccess: (made) => {
          onClose();
          notifyDone(`The ${type} ${made.name} is at ${shortRef(made.commit_id)}.`);
          if (type === "branch") {
            void navigate({
              to: "/projects/$project/datasets/$dataset",
              params: place,
              search: { tab: "files", ref: made.name },
            });
          }
        },
      },
    ),
  );
  const name = form.values.name.trim() || "NAME";
  const written = shellQuote(`${place.project}/${place.dataset}@${name}`);
  return (
    <Modal
      opened
      onClose={onClose}
      title={type === "branch" ? "New branch" : "New tag"}
      closeButtonProps={{ "aria-label": "Close" }}
    >
      <form onSubmit={submit}>
        <Stack>
          <Text size="sm">
            {type === "branch" ? "Begins at" : "Names"} <b>{shortRef(at)}</b>
            {type === "tag" && ", and never moves"}.
          </Text>
          <TextInput
            label="Name"
            required
            data-autofocus
            autoComplete="off"
            {...form.getInputProps("name")}
          />
          {create.error && <ErrorNotice error={create.error} />}
          <Button type="submit" loading={create.isPending}>
            Create
          </Button>
          <CommandLine command={`mill data ${type} ${written} --at ${shellQuote(shortRef(at))}`} />
        </Stack>
      </form>
    </Modal>
  );
}

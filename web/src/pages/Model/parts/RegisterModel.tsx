import {
  Autocomplete,
  Button,
  Group,
  Modal,
  Stack,
  TagsInput,
  Text,
  Textarea,
  TextInput,
} from "@mantine/core";
import { useDebouncedValue, useDisclosure } from "@mantine/hooks";
import { IconCube } from "@tabler/icons-react";
import { useInfiniteQuery } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { modelsQuery, useRegister } from "../../../api/models";
import { itemsOf } from "../../../api/paging";
import { useMay } from "../../../api/session";
import { CommandLine } from "../../../components/Copyable";
import { ErrorNotice } from "../../../components/ErrorNotice";
import { shellQuote } from "../../../lib/names";

interface Props {
  project: string;
  run: string;
  /** The folder or file that is shown; empty for all artifacts. */
  path: string;
}

/** On a run's artifacts: what is shown becomes the next version of a model. Nothing for those who may not. */
export function RegisterButton(props: Props) {
  const may = useMay(props.project, "member");
  const [opened, dialog] = useDisclosure(false);
  if (!may) return null;
  return (
    <>
      <Button
        variant="default"
        size="xs"
        leftSection={<IconCube size={14} aria-hidden />}
        onClick={dialog.open}
      >
        Register as a model
      </Button>
      {opened && <RegisterModel {...props} onClose={dialog.close} />}
    </>
  );
}

function RegisterModel({ project, run, path, onClose }: Props & { onClose: () => void }) {
  const [draft, setDraft] = useState({ model: "", path, description: "", aliases: [] as string[] });
  const [typed] = useDebouncedValue(draft.model, 200);
  const known = itemsOf(useInfiniteQuery(modelsQuery({ project, search: typed || undefined })).data);
  const register = useRegister(project);
  const navigate = useNavigate();
  const name = draft.model.trim();
  const existing = known.find((one) => one.name === name);
  const change = (part: Partial<typeof draft>) => setDraft((before) => ({ ...before, ...part }));
  const submit = (event: React.FormEvent) => {
    event.preventDefault();
    if (!name) return;
    register.mutate(
      { ...draft, model: name, run },
      {
        onSuccess: ({ model, version }) => {
          onClose();
          void navigate({
            to: "/projects/$project/models/$model/versions/$version",
            params: { project, model, version: String(version) },
          });
        },
      },
    );
  };
  return (
    <Modal opened onClose={onClose} title="Register as a model" closeButtonProps={{ "aria-label": "Close" }}>
      <form onSubmit={submit}>
        <Stack>
          <Autocomplete
            label="Model"
            description="A new name makes a new model."
            data={known.map((one) => one.name)}
            value={draft.model}
            onChange={(model) => change({ model })}
            maxLength={200}
            required
            data-autofocus
          />
          {existing && (
            <Text size="sm">
              {existing.newest
                ? `Becomes its next version. The newest is ${existing.newest.version}.`
                : "Becomes its first version."}
            </Text>
          )}
          <TextInput
            label="Folder or file"
            description="Among the run's artifacts. Empty: all of them."
            value={draft.path}
            onChange={(event) => change({ path: event.currentTarget.value })}
          />
          <TagsInput
            label="Aliases"
            description="Names that point to this version from now on."
            data={Object.keys(existing?.aliases ?? {})}
            value={draft.aliases}
            onChange={(aliases) => change({ aliases })}
          />
          <Textarea
            label="Description"
            autosize
            minRows={2}
            value={draft.description}
            onChange={(event) => change({ description: event.currentTarget.value })}
          />
          {register.error && <ErrorNotice error={register.error} />}
          <Group justify="flex-end">
            <Button variant="default" onClick={onClose}>
              Cancel
            </Button>
            <Button type="submit" loading={register.isPending} disabled={!name}>
              Register
            </Button>
          </Group>
          <CommandLine wrap command={commandOf(name, run, draft.path, draft.aliases)} />
        </Stack>
      </form>
    </Modal>
  );
}

function commandOf(name: string, run: string, path: string, aliases: readonly string[]): string {
  const from = shellQuote(path ? `${run}:${path}` : run);
  const named = aliases.map((alias) => ` --alias ${shellQuote(alias)}`).join("");
  return `mill model register ${shellQuote(name || "NAME")} --from ${from}${named}`;
}

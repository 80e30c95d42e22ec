import { Button, Checkbox, Group, Modal, MultiSelect, NumberInput, Stack, TextInput } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { IconRocket } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { type EndpointSpec, useCreateEndpoint } from "../../../api/endpoints";
import type { ModelVersion } from "../../../api/shapes";
import { sitesQuery } from "../../../api/topology";
import { CommandLine } from "../../../components/Copyable";
import { ErrorNotice } from "../../../components/ErrorNotice";
import { shellQuote } from "../../../lib/names";

interface Draft {
  name: string;
  sites: string[];
  min: number;
  max: number;
  installs: boolean;
}

/** The version becomes an endpoint. */
export function DeployButton({ version }: { version: ModelVersion }) {
  const [opened, dialog] = useDisclosure(false);
  return (
    <>
      <Button leftSection={<IconRocket size={16} aria-hidden />} onClick={dialog.open}>
        Deploy
      </Button>
      {opened && <Deploy version={version} onClose={dialog.close} />}
    </>
  );
}

function Deploy({ version, onClose }: { version: ModelVersion; onClose: () => void }) {
  const create = useCreateEndpoint(version.project);
  const navigate = useNavigate();
  const sites = useQuery(sitesQuery).data?.items ?? [];
  const [draft, setDraft] = useState<Draft>({
    name: version.model.toLowerCase().replaceAll(/[^a-z0-9]+/g, "-"),
    sites: [],
    min: 1,
    max: 1,
    installs: true,
  });
  const change = (part: Partial<Draft>) => setDraft((before) => ({ ...before, ...part }));
  const chosen = draft.sites.length > 0 ? draft.sites : sites.slice(0, 1).map((site) => site.name);
  const submit = (event: React.FormEvent) => {
    event.preventDefault();
    create.mutate(specOf(version, { ...draft, sites: chosen }), {
      onSuccess: ({ project, name }) => {
        onClose();
        void navigate({
          to: "/projects/$project/endpoints/$endpoint",
          params: { project, endpoint: name },
        });
      },
    });
  };
  return (
    <Modal
      opened
      onClose={onClose}
      title={`Deploy ${version.model} version ${version.version}`}
      closeButtonProps={{ "aria-label": "Close" }}
    >
      <form onSubmit={submit}>
        <Stack>
          <TextInput
            label="Endpoint"
            value={draft.name}
            onChange={(event) => change({ name: event.currentTarget.value })}
            maxLength={63}
            required
            data-autofocus
          />
          <MultiSelect
            label="Sites"
            description="Replicas run there, next to a cached copy of the model."
            data={sites.map((site) => site.name)}
            value={chosen}
            onChange={(picked) => change({ sites: picked })}
            required
          />
          <Group grow>
            <NumberInput
              label="Minimum of replicas"
              description="0: none without requests."
              min={0}
              max={1000}
              value={draft.min}
              onChange={(value) => change({ min: Number(value) || 0 })}
            />
            <NumberInput
              label="Maximum"
              description="At each site."
              min={1}
              max={1000}
              value={draft.max}
              onChange={(value) => change({ max: Number(value) || 1 })}
            />
          </Group>
          <Checkbox
            label="Install the packages that the model needs"
            description="Off: the machines' own Python has them."
            checked={draft.installs}
            onChange={(event) => change({ installs: event.currentTarget.checked })}
          />
          {create.error && <ErrorNotice error={create.error} />}
          <Group justify="flex-end">
            <Button variant="default" onClick={onClose}>
              Cancel
            </Button>
            <Button
              type="submit"
              loading={create.isPending}
              disabled={!draft.name || chosen.length === 0 || draft.min > draft.max}
            >
              Deploy
            </Button>
          </Group>
          <CommandLine wrap command={commandOf(version, { ...draft, sites: chosen })} />
        </Stack>
      </form>
    </Modal>
  );
}

function specOf(version: ModelVersion, draft: Draft): EndpointSpec {
  const limits = { min: draft.min, max: draft.max };
  return {
    schema: "millpond.endpoint/1",
    name: draft.name.trim(),
    versions: [{ model: `${version.model}@${version.version}`, weight: 100 }],
    sites: Object.fromEntries(draft.sites.map((site) => [site, limits])),
    ...(draft.installs ? {} : { environment: "none" }),
  };
}

function commandOf(version: ModelVersion, draft: Draft): string {
  const sites = draft.sites.map((site) => ` --site ${shellQuote(site)}`).join("");
  const model = shellQuote(`${version.model}@${version.version}`);
  const packages = draft.installs ? "" : " --environment none";
  return `mill endpoint create ${draft.name || "NAME"} --model ${model}${sites} --min ${draft.min} --max ${draft.max}${packages}`;
}

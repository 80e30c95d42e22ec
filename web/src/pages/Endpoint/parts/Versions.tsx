import { Button, Group, Modal, NumberInput, Progress, Slider, Stack, Text } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { useState } from "react";
import { useCanary, usePromote, useRollback, useUpdateEndpoint } from "../../../api/endpoints";
import { useMay } from "../../../api/session";
import type { Endpoint } from "../../../api/shapes";
import { CommandLine } from "../../../components/Copyable";
import { ErrorNotice } from "../../../components/ErrorNotice";
import { ModelLink } from "../../../components/ModelLink";
import { notifyDone, tell } from "../../../components/notify";
import { Section } from "../../../components/Section";
import { Time } from "../../../components/Time";
import { shellQuote } from "../../../lib/names";
import { VersionSelect } from "./VersionSelect";

/** Shares of requests that the versions get; a canary grows by its rule, or by hand. */
export function Versions({ endpoint }: { endpoint: Endpoint }) {
  const may = useMay(endpoint.project, "member");
  const [opened, dialog] = useDisclosure(false);
  const canary = endpoint.versions.length === 2;
  return (
    <Section
      title="Versions"
      actions={
        may && (
          <Button size="xs" variant="default" onClick={dialog.open}>
            {canary ? "Change the canary" : "Start a canary"}
          </Button>
        )
      }
    >
      <Stack p="md" gap="md">
        {endpoint.versions.map(({ model, version, weight, asked }) => (
          <div key={`${model}@${version}`}>
            <Group justify="space-between" mb={4}>
              <ModelLink project={endpoint.project} model={model} version={version}>
                {model}@{version}
              </ModelLink>
              <Text size="sm">
                {weight} % of requests{asked !== weight && `, ${asked} % asked for`}
              </Text>
            </Group>
            <Progress value={weight} aria-label={`Share of ${model}@${version}`} />
          </div>
        ))}
        {endpoint.rollout && (
          <Text size="sm" c="dimmed" component="div">
            Canary {endpoint.rollout.canary} has this share since <Time at={endpoint.rollout.since} />.{" "}
            {endpoint.rollout.reason}
          </Text>
        )}
        {canary && may && <CanaryControls endpoint={endpoint} />}
      </Stack>
      {opened && <CanaryForm endpoint={endpoint} onClose={dialog.close} />}
    </Section>
  );
}

/** The share by hand; all of the requests, or none. */
function CanaryControls({ endpoint }: { endpoint: Endpoint }) {
  const place = { project: endpoint.project, endpoint: endpoint.name };
  const update = useUpdateEndpoint(place);
  const promote = usePromote(place);
  const rollback = useRollback(place);
  const [stable, canary] = endpoint.versions;
  const [chosen, setChosen] = useState<number | null>(null);
  if (!stable || !canary) return null;
  const weight = chosen ?? canary.weight;
  const written = `${canary.model}@${canary.version}`;
  const save = () =>
    void tell(
      update.mutateAsync({
        revision: endpoint.revision,
        spec: {
          ...endpoint.spec,
          versions: [
            { model: `${stable.model}@${stable.version}`, weight: 100 - weight },
            { model: written, weight },
          ],
        },
      }),
      () => {
        setChosen(null);
        notifyDone(`${written} gets ${weight} % of the requests.`);
      },
    );
  return (
    <Group align="flex-end" gap="md">
      <div style={{ flexGrow: 1, minWidth: 200 }}>
        <Text size="sm" mb={4}>
          Share of {written}: {weight} %
        </Text>
        <Slider
          thumbLabel={`Share of ${written}`}
          min={1}
          max={99}
          value={weight}
          onChange={setChosen}
          label={(value) => `${value} %`}
        />
      </div>
      <Button size="xs" disabled={weight === canary.weight} loading={update.isPending} onClick={save}>
        Set the share
      </Button>
      <Button
        size="xs"
        variant="default"
        loading={promote.isPending}
        onClick={() => void tell(promote.mutateAsync(), () => notifyDone(`${written} gets all requests.`))}
      >
        Promote
      </Button>
      <Button
        size="xs"
        variant="default"
        color="red"
        loading={rollback.isPending}
        onClick={() =>
          void tell(rollback.mutateAsync(undefined), () => notifyDone("Back to the revision before."))
        }
      >
        Roll back
      </Button>
    </Group>
  );
}

function CanaryForm({ endpoint, onClose }: { endpoint: Endpoint; onClose: () => void }) {
  const canary = useCanary({ project: endpoint.project, endpoint: endpoint.name });
  const model = endpoint.versions[0]?.model ?? "";
  const serving = endpoint.versions[0]?.version;
  const [version, setVersion] = useState<string | null>(null);
  const [weight, setWeight] = useState(5);
  const submit = (event: React.FormEvent) => {
    event.preventDefault();
    if (version)
      canary.mutate({ model: `${model}@${version}`, weight, unchecked: false }, { onSuccess: onClose });
  };
  return (
    <Modal opened onClose={onClose} title="Start a canary" closeButtonProps={{ "aria-label": "Close" }}>
      <form onSubmit={submit}>
        <Stack>
          <VersionSelect
            project={endpoint.project}
            model={model}
            value={version}
            onChange={setVersion}
            except={serving}
          />
          <NumberInput
            label="Share of requests"
            description="It grows by the rule for rollouts, if the endpoint has one."
            suffix=" %"
            min={1}
            max={99}
            value={weight}
            onChange={(value) => setWeight(Number(value) || 1)}
          />
          {canary.error && <ErrorNotice error={canary.error} />}
          <Group justify="flex-end">
            <Button variant="default" onClick={onClose}>
              Cancel
            </Button>
            <Button type="submit" loading={canary.isPending} disabled={!version}>
              Start
            </Button>
          </Group>
          <CommandLine
            wrap
            command={`mill endpoint canary ${endpoint.name} --model ${shellQuote(`${model}@${version ?? "VERSION"}`)} --weight ${weight}`}
          />
        </Stack>
      </form>
    </Modal>
  );
}

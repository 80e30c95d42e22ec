import { Button, Group, Modal, NumberInput, Stack, Text, TextInput } from "@mantine/core";
import { type FormEvent, useState } from "react";
import { useUpdateEndpoint } from "../../../api/endpoints";
import type { Endpoint } from "../../../api/shapes";
import { ErrorNotice } from "../../../components/ErrorNotice";
import { notifyDone } from "../../../components/notify";
import { isLogged, settingsOf, withDrift, withoutDrift } from "./drift";

/** The settings of drift, saved as a revision. */
export function DriftForm({ endpoint, onClose }: { endpoint: Endpoint; onClose: () => void }) {
  const update = useUpdateEndpoint({ project: endpoint.project, endpoint: endpoint.name });
  const [asked, setAsked] = useState(() => settingsOf(endpoint.spec));
  const change = (part: Partial<typeof asked>) => setAsked({ ...asked, ...part });
  const save = (spec: Record<string, unknown>) =>
    update.mutate(
      { spec, revision: endpoint.revision },
      {
        onSuccess: ({ revision }) => {
          notifyDone(`Saved as revision ${revision}.`);
          onClose();
        },
      },
    );
  const submit = (event: FormEvent) => {
    event.preventDefault();
    save(withDrift(endpoint.spec, asked));
  };
  return (
    <Modal opened onClose={onClose} title="Compare requests with a reference">
      <form onSubmit={submit}>
        <Stack>
          <TextInput
            label="Reference"
            description="Tables or an earlier request log: dataset@ref or dataset@ref:path"
            placeholder="train@v3"
            required
            data-autofocus
            value={asked.reference}
            onChange={(event) => change({ reference: event.currentTarget.value })}
          />
          <Group grow align="flex-start">
            <TextInput
              label="Window"
              description="Requests of how long, like 1h"
              required
              value={asked.window}
              onChange={(event) => change({ window: event.currentTarget.value })}
            />
            <TextInput
              label="Every"
              description="How often, like 15m"
              placeholder={asked.window}
              value={asked.every}
              onChange={(event) => change({ every: event.currentTarget.value })}
            />
          </Group>
          <Group grow align="flex-start">
            <NumberInput
              label="Alert if PSI is above"
              min={0}
              max={100}
              step={0.05}
              value={asked.psi_max}
              onChange={(value) => change({ psi_max: Number(value) })}
            />
            <NumberInput
              label="and p is below"
              min={0}
              max={1}
              step={0.01}
              value={asked.p_min}
              onChange={(value) => change({ p_min: Number(value) })}
            />
          </Group>
          {!isLogged(endpoint.spec) && (
            <Text size="sm">
              Requests are not kept with their contents yet. Saving turns that on: they are committed to a
              dataset of the project every few minutes.
            </Text>
          )}
          {update.error && <ErrorNotice error={update.error} />}
          <Group justify="flex-end">
            {endpoint.spec.drift !== undefined && (
              <Button variant="default" onClick={() => save(withoutDrift(endpoint.spec))}>
                Stop comparing
              </Button>
            )}
            <Button type="submit" loading={update.isPending}>
              Save
            </Button>
          </Group>
        </Stack>
      </form>
    </Modal>
  );
}

import { Button, Group, Modal, NumberInput, Stack, Text, TextInput } from "@mantine/core";
import { useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { usePredictBatch } from "../../../api/models";
import type { ModelVersion } from "../../../api/shapes";
import { CommandLine } from "../../../components/Copyable";
import { ErrorNotice } from "../../../components/ErrorNotice";
import { shellQuote } from "../../../lib/names";

/** Runs the version over a whole dataset; leads to the run that does it. */
export function PredictDataset({ version, onClose }: { version: ModelVersion; onClose: () => void }) {
  const { project, model } = version;
  const predict = usePredictBatch({ project, model, version: String(version.version) });
  const navigate = useNavigate();
  const [draft, setDraft] = useState({ input: "", output: "", columns: "", shards: 1 });
  const change = (part: Partial<typeof draft>) => setDraft((before) => ({ ...before, ...part }));
  const columns = draft.columns
    .split(",")
    .map((name) => name.trim())
    .filter(Boolean);
  const submit = (event: React.FormEvent) => {
    event.preventDefault();
    predict.mutate(
      { input: draft.input.trim(), output: draft.output.trim(), shards: draft.shards, columns },
      {
        onSuccess: ({ id }) => {
          onClose();
          void navigate({ to: "/projects/$project/flow-runs/$run", params: { project, run: id } });
        },
      },
    );
  };
  return (
    <Modal
      opened
      onClose={onClose}
      title={`Predict a dataset with ${model} version ${version.version}`}
      closeButtonProps={{ "aria-label": "Close" }}
    >
      <form onSubmit={submit}>
        <Stack>
          <TextInput
            label="Dataset"
            description="Its tables, arrays and images are predicted. Write NAME or NAME@REF."
            value={draft.input}
            onChange={(event) => change({ input: event.currentTarget.value })}
            required
            data-autofocus
          />
          <TextInput
            label="Predictions go to"
            description="A dataset; a new name makes a new one."
            value={draft.output}
            onChange={(event) => change({ output: event.currentTarget.value })}
            required
          />
          <TextInput
            label="Columns"
            description="Of tables, by commas. Empty: columns named as the inputs, or all columns of numbers."
            value={draft.columns}
            onChange={(event) => change({ columns: event.currentTarget.value })}
          />
          <NumberInput
            label="Shards"
            description="Parts that run at the same time."
            min={1}
            max={1000}
            value={draft.shards}
            onChange={(value) => change({ shards: Number(value) || 1 })}
          />
          {predict.error && <ErrorNotice error={predict.error} />}
          <Group justify="flex-end">
            <Button variant="default" onClick={onClose}>
              Cancel
            </Button>
            <Button type="submit" loading={predict.isPending} disabled={!draft.input || !draft.output}>
              Predict
            </Button>
          </Group>
          <Text size="sm" c="dimmed">
            By command:
          </Text>
          <CommandLine
            wrap
            command={`mill model batch ${shellQuote(`${model}@${version.version}`)} --input ${draft.input || "DATASET"} --output ${draft.output || "DATASET"} --shards ${draft.shards}${columns.length > 0 ? ` --columns ${shellQuote(columns.join(","))}` : ""}`}
          />
        </Stack>
      </form>
    </Modal>
  );
}

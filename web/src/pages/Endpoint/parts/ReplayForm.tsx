import { Button, Group, Modal, NumberInput, Select, Stack } from "@mantine/core";
import { type FormEvent, useState } from "react";
import { useStartReplay } from "../../../api/endpoints";
import type { Endpoint } from "../../../api/shapes";
import { CommandLine } from "../../../components/Copyable";
import { ErrorNotice } from "../../../components/ErrorNotice";
import { notifyDone } from "../../../components/notify";
import { shellQuote } from "../../../lib/names";
import { VersionSelect } from "./VersionSelect";

const DAY = 86_400;
const RANGES = { "1h": 3600, "1d": DAY, "7d": 7 * DAY, "30d": 30 * DAY } as const;
type Range = keyof typeof RANGES;
const MOST = 20_000;

/** Which version is asked which requests again. */
export function ReplayForm({ endpoint, onClose }: { endpoint: Endpoint; onClose: () => void }) {
  const start = useStartReplay({ project: endpoint.project, endpoint: endpoint.name });
  const model = endpoint.versions[0]?.model ?? "";
  const [version, setVersion] = useState<string | null>(null);
  const [range, setRange] = useState<Range>("1d");
  const [limit, setLimit] = useState(1000);
  const written = `${model}@${version ?? "VERSION"}`;
  const submit = (event: FormEvent) => {
    event.preventDefault();
    start.mutate(
      { model: written, since_seconds: RANGES[range], limit },
      {
        onSuccess: ({ state }) => {
          notifyDone(state === "running" ? "Replay started." : "This was replayed before.");
          onClose();
        },
      },
    );
  };
  return (
    <Modal
      opened
      onClose={onClose}
      title="Replay requests on a version"
      closeButtonProps={{ "aria-label": "Close" }}
    >
      <form onSubmit={submit}>
        <Stack>
          <VersionSelect project={endpoint.project} model={model} value={version} onChange={setVersion} />
          <Group grow align="flex-start">
            <Select
              label="Requests of the last"
              data={Object.keys(RANGES)}
              value={range}
              onChange={(value) => setRange((value as Range | null) ?? "1d")}
              allowDeselect={false}
            />
            <NumberInput
              label="At most"
              min={1}
              max={MOST}
              allowDecimal={false}
              value={limit}
              onChange={(value) => setLimit(Number(value) || 1)}
            />
          </Group>
          {start.error && <ErrorNotice error={start.error} />}
          <Group justify="flex-end">
            <Button variant="default" onClick={onClose}>
              Cancel
            </Button>
            <Button type="submit" loading={start.isPending} disabled={!version}>
              Start
            </Button>
          </Group>
          <CommandLine
            wrap
            command={`mill endpoint replay ${endpoint.name} --on ${shellQuote(written)} --since ${range} -n ${limit}`}
          />
        </Stack>
      </form>
    </Modal>
  );
}

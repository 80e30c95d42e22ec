import { Button, Group, Modal, NumberInput, Stack, Text } from "@mantine/core";
import { useForm } from "@mantine/form";
import type { Volume } from "../../../api/shapes";
import { useChangeVolume } from "../../../api/volumes";
import { CommandLine } from "../../../components/Copyable";
import { ErrorNotice } from "../../../components/ErrorNotice";
import { formatBytes } from "../../../lib/quantity";
import { TierFields } from "./TierFields";
import { changesOf, commandLineOf, draftOf, type VolumeDraft } from "./volumeDraft";

/** Room, idle time, watermarks and tier of a volume. Nothing is torn out: what is too much goes by and by. */
export function EditVolume({ volume, onClose }: { volume: Volume; onClose: () => void }) {
  const change = useChangeVolume();
  const form = useForm<VolumeDraft>({ initialValues: draftOf(volume) });
  const asked = changesOf(volume, form.values);
  const send = () => change.mutate({ volume: volume.name, ...asked }, { onSuccess: onClose });
  return (
    <Modal
      opened
      onClose={onClose}
      title={`Change ${volume.name}`}
      size="lg"
      closeButtonProps={{ "aria-label": "Close" }}
    >
      <form onSubmit={form.onSubmit(send)}>
        <Stack>
          <Room form={form} volume={volume} />
          <Group grow align="flex-start">
            <NumberInput
              label="Idle time (hours)"
              description="Unused, a commit stays"
              min={0}
              {...form.getInputProps("idleHours")}
            />
            <NumberInput
              label="Evict above (%)"
              description="Of what may be used"
              min={1}
              max={100}
              {...form.getInputProps("high")}
            />
            <NumberInput
              label="… down to (%)"
              description="Longest unused first"
              min={0}
              max={100}
              {...form.getInputProps("low")}
            />
          </Group>
          <TierFields inputProps={form.getInputProps} />
          {change.error && <ErrorNotice error={change.error} />}
          <Button type="submit" loading={change.isPending} disabled={Object.keys(asked).length === 0}>
            Change
          </Button>
          <div>
            <Text size="xs" c="dimmed" mb={2}>
              The same on the command line
            </Text>
            <CommandLine command={commandLineOf(volume, form.values)} />
          </div>
        </Stack>
      </form>
    </Modal>
  );
}

type Form = ReturnType<typeof useForm<VolumeDraft>>;

function Room({ form, volume }: { form: Form; volume: Volume }) {
  const disk = volume.disk_total_bytes;
  return (
    <Group grow align="flex-start">
      <NumberInput
        label="Capacity (GB)"
        description={disk == null ? "What cached commits may take" : `The disk has ${formatBytes(disk)}`}
        min={0}
        decimalScale={3}
        {...form.getInputProps("capacityGb")}
      />
      <NumberInput
        label="Reserve (GB)"
        description="Of this, what is never used"
        min={0}
        decimalScale={3}
        {...form.getInputProps("reserveGb")}
      />
    </Group>
  );
}

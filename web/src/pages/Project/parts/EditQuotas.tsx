import { Button, Modal, NumberInput, Stack } from "@mantine/core";
import { useForm } from "@mantine/form";
import { useChangeQuota } from "../../../api/quotas";
import type { QuotaUse } from "../../../api/shapes";
import { ErrorNotice } from "../../../components/ErrorNotice";
import { notifyDone } from "../../../components/notify";

interface Props {
  project: string;
  items: QuotaUse[];
  onClose: () => void;
}

const GB = 1_000_000_000;
const NONE = "No limit";

/** An empty field lifts the quota. */
export function EditQuotas({ project, items, onClose }: Props) {
  const change = useChangeQuota(project);
  const limits = Object.fromEntries(items.map((one) => [one.kind, one.limit]));
  const shown = (kind: QuotaUse["kind"], unit = 1) => (limits[kind] == null ? "" : limits[kind] / unit);
  const form = useForm<Record<QuotaUse["kind"], number | string>>({
    initialValues: {
      lake: shown("lake", GB),
      cached: shown("cached", GB),
      jobs: shown("jobs"),
      calls: shown("calls"),
    },
  });
  const submit = form.onSubmit((values) =>
    change.mutate(
      {
        lake_bytes: read(values.lake, GB),
        cached_bytes: read(values.cached, GB),
        jobs: read(values.jobs),
        calls_per_minute: read(values.calls),
      },
      {
        onSuccess: () => {
          notifyDone(`Quotas of ${project} changed.`);
          onClose();
        },
      },
    ),
  );
  const whole = { allowDecimal: false, min: 0, placeholder: NONE, thousandSeparator: "," } as const;
  return (
    <Modal
      opened
      onClose={onClose}
      title={`Quotas of ${project}`}
      closeButtonProps={{ "aria-label": "Close" }}
    >
      <form onSubmit={submit}>
        <Stack>
          <NumberInput
            label="In the lake, GB"
            min={0}
            placeholder={NONE}
            data-autofocus
            {...form.getInputProps("lake")}
          />
          <NumberInput
            label="Cached on volumes, GB"
            min={0}
            placeholder={NONE}
            {...form.getInputProps("cached")}
          />
          <NumberInput label="Jobs at work" {...whole} {...form.getInputProps("jobs")} />
          <NumberInput label="API calls a minute" {...whole} {...form.getInputProps("calls")} />
          {change.error && <ErrorNotice error={change.error} />}
          <Button type="submit" loading={change.isPending}>
            Set quotas
          </Button>
        </Stack>
      </form>
    </Modal>
  );
}

function read(value: number | string, unit = 1): number | null {
  return value === "" ? null : Math.round(Number(value) * unit);
}

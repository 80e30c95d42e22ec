import { Button, Group, Modal, NumberInput, Stack, Text, TextInput } from "@mantine/core";
import { useForm } from "@mantine/form";
import { useDisclosure } from "@mantine/hooks";
import { useSession } from "../../../api/session";
import type { RateLimit, RateLimitPut } from "../../../api/shapes";
import { type Limited, usePutLimit, useRemoveLimit } from "../../../api/topology";
import { CommandLine } from "../../../components/Copyable";
import { ErrorNotice } from "../../../components/ErrorNotice";
import { type LimitDraft, limitCommand, limitDraft, limitedName, limitOf } from "./limits";

/** For administrators: set or remove the limit of a link or a site. */
export function LimitButton({ of, limit }: { of: Limited; limit: RateLimit | null | undefined }) {
  const [opened, dialog] = useDisclosure(false);
  if (!useSession()?.user.is_admin) return null;
  return (
    <>
      <Button
        size="compact-sm"
        variant="default"
        aria-label={`Limit ${limitedName(of)}`}
        onClick={dialog.open}
      >
        Limit
      </Button>
      {opened && <LimitForm of={of} limit={limit ?? null} onClose={dialog.close} />}
    </>
  );
}

function LimitForm({ of, limit, onClose }: { of: Limited; limit: RateLimit | null; onClose: () => void }) {
  const put = usePutLimit();
  const remove = useRemoveLimit();
  const form = useForm<LimitDraft>({ initialValues: limitDraft(limit) });
  const said: RateLimitPut | null = limitOf(form.values);
  const error = put.error ?? remove.error;
  return (
    <Modal
      opened
      onClose={onClose}
      title={`Limit of ${limitedName(of)}`}
      closeButtonProps={{ "aria-label": "Close" }}
    >
      <form
        onSubmit={form.onSubmit(() => {
          if (said) put.mutate({ of, limit: said }, { onSuccess: onClose });
        })}
      >
        <Stack>
          <NumberInput
            label="Limit (Mbit/s)"
            description="Highest rate of fills, in both directions together."
            min={0}
            data-autofocus
            {...form.getInputProps("megabits")}
          />
          <Group grow align="flex-start">
            <TextInput label="From" placeholder="08:00" {...form.getInputProps("start")} />
            <TextInput label="To" placeholder="18:00" {...form.getInputProps("end")} />
          </Group>
          <TextInput label="Time zone" placeholder="Europe/Berlin" {...form.getInputProps("zone")} />
          <NumberInput
            label="At other times (Mbit/s)"
            placeholder="unlimited"
            min={0}
            {...form.getInputProps("otherwise")}
          />
          <Text size="sm" c="dimmed">
            Without times the limit always holds. A window that ends before it starts goes over midnight.
            {limit && limit.windows.length > 2 && ` Now: ${limit.text}. Setting replaces all windows.`}
          </Text>
          {error && <ErrorNotice error={error} />}
          <Group>
            <Button type="submit" disabled={said === null} loading={put.isPending}>
              Set
            </Button>
            {limit && (
              <Button
                variant="default"
                loading={remove.isPending}
                onClick={() => remove.mutate(of, { onSuccess: onClose })}
              >
                Remove limit
              </Button>
            )}
          </Group>
          <div>
            <Text size="xs" c="dimmed" mb={2}>
              The same on the command line
            </Text>
            <CommandLine command={limitCommand(of, said)} />
          </div>
        </Stack>
      </form>
    </Modal>
  );
}

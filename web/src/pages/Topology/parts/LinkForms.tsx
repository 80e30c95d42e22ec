import { Button, Group, Modal, NumberInput, Select, Stack, Text } from "@mantine/core";
import { useForm } from "@mantine/form";
import { useDisclosure } from "@mantine/hooks";
import { IconLink } from "@tabler/icons-react";
import { useSession } from "../../../api/session";
import type { Link, LinkPut } from "../../../api/shapes";
import { usePutLink, useRemoveLink } from "../../../api/topology";
import { CommandLine } from "../../../components/Copyable";
import { ErrorNotice } from "../../../components/ErrorNotice";
import { notifyDone, tell } from "../../../components/notify";
import { LAKE } from "./layout";
import { linkCommand } from "./words";

interface Draft {
  a: string | null;
  b: string | null;
  gigabits: number | string;
  latency: number | string;
  price: number | string;
}

/** For site administrators. */
export function SetLinkButton({ sites }: { sites: string[] }) {
  const [opened, dialog] = useDisclosure(false);
  if (!useSession()?.user.is_admin) return null;
  return (
    <>
      <Button variant="default" leftSection={<IconLink size={16} aria-hidden />} onClick={dialog.open}>
        Set link
      </Button>
      {opened && <LinkForm sites={sites} onClose={dialog.close} />}
    </>
  );
}

/** Change what is said of a link, or take it back; what was measured stays. */
export function LinkActions({ link }: { link: Link }) {
  const [opened, dialog] = useDisclosure(false);
  const remove = useRemoveLink();
  if (!useSession()?.user.is_admin) return null;
  const name = `${link.a} – ${link.b}`;
  return (
    <Group gap="xs" wrap="nowrap">
      <Button size="compact-sm" variant="default" onClick={dialog.open} aria-label={`Change ${name}`}>
        Change
      </Button>
      {link.set_at !== null && (
        <Button
          size="compact-sm"
          variant="default"
          loading={remove.isPending}
          aria-label={`Forget what is declared of ${name}`}
          onClick={() =>
            tell(remove.mutateAsync({ a: link.a, b: link.b }), () =>
              notifyDone(`What was declared of ${name} is forgotten.`),
            )
          }
        >
          Forget
        </Button>
      )}
      {opened && <LinkForm sites={[link.a, link.b]} link={link} onClose={dialog.close} />}
    </Group>
  );
}

function LinkForm({ sites, link, onClose }: { sites: string[]; link?: Link; onClose: () => void }) {
  const put = usePutLink();
  const form = useForm<Draft>({ initialValues: draftOf(link) });
  const { a, b } = form.values;
  const said = saidBy(form.values);
  const ends = [...new Set([LAKE, ...sites])];
  const nothing = Object.values(said).every((value) => value === null);
  const send = () => {
    if (a && b) put.mutate({ a, b, ...said }, { onSuccess: onClose });
  };
  return (
    <Modal
      opened
      onClose={onClose}
      title={link ? `Link ${link.a} – ${link.b}` : "Set link"}
      closeButtonProps={{ "aria-label": "Close" }}
    >
      <form onSubmit={form.onSubmit(send)}>
        <Stack>
          {!link && (
            <Group grow align="flex-start">
              <Select label="From" required data={ends} searchable {...form.getInputProps("a")} />
              <Select
                label="To"
                required
                searchable
                data={ends.filter((end) => end !== a)}
                {...form.getInputProps("b")}
              />
            </Group>
          )}
          <NumberInput
            label="Bandwidth (Gbit/s)"
            placeholder="unknown"
            min={0}
            data-autofocus
            {...form.getInputProps("gigabits")}
          />
          <Group grow align="flex-start">
            <NumberInput
              label="Latency (ms)"
              placeholder="unknown"
              min={0}
              {...form.getInputProps("latency")}
            />
            <NumberInput
              label="Price per GB"
              placeholder="unknown"
              min={0}
              {...form.getInputProps("price")}
            />
          </Group>
          <Text size="sm" c="dimmed">
            The same in both directions. What is left empty is not known any more; what fills measured stays.
          </Text>
          {put.error && <ErrorNotice error={put.error} />}
          <Button type="submit" disabled={!a || !b || nothing} loading={put.isPending}>
            Set
          </Button>
          <div>
            <Text size="xs" c="dimmed" mb={2}>
              The same on the command line
            </Text>
            <CommandLine command={linkCommand(a ?? "", b ?? "", said)} />
          </div>
        </Stack>
      </form>
    </Modal>
  );
}

function draftOf(link: Link | undefined): Draft {
  return {
    a: link?.a ?? null,
    b: link?.b ?? null,
    gigabits: link?.bits_per_second == null ? "" : link.bits_per_second / 1e9,
    latency: link?.latency_ms ?? "",
    price: link?.price_per_gb ?? "",
  };
}

function saidBy({ gigabits, latency, price }: Draft): LinkPut {
  const number = (value: number | string) => (value === "" ? null : Number(value));
  const bandwidth = number(gigabits);
  return {
    bits_per_second: bandwidth === null ? null : Math.round(bandwidth * 1e9) || null,
    latency_ms: number(latency),
    price_per_gb: number(price),
  };
}

import { Button, Group, Modal, NumberInput, Select, Stack, Text, TextInput } from "@mantine/core";
import { useForm } from "@mantine/form";
import { useQuery } from "@tanstack/react-query";
import { sitesQuery } from "../../../api/topology";
import { useAddVolume } from "../../../api/volumes";
import { CommandLine } from "../../../components/Copyable";
import { ErrorNotice } from "../../../components/ErrorNotice";
import { shellQuote } from "../../../lib/names";
import { TierFields } from "./TierFields";

interface Draft {
  name: string;
  path: string;
  site: string;
  capacityGb: number | string;
  tier: string;
  throughput: number | string;
  price: number | string;
}

const EMPTY: Draft = {
  name: "",
  path: "",
  site: "local",
  capacityGb: "",
  tier: "standard",
  throughput: "",
  price: "",
};

/** A directory that is there already; one that its agent cannot use is not added. */
export function NewVolume({ onClose }: { onClose: () => void }) {
  const add = useAddVolume();
  const sites = useQuery(sitesQuery).data?.items.map((site) => site.name) ?? ["local"];
  const form = useForm<Draft>({ initialValues: EMPTY });
  const send = ({ name, path, site, capacityGb, tier, throughput, price }: Draft) =>
    add.mutate(
      {
        name,
        path,
        site,
        capacity_bytes: Math.round(Number(capacityGb) * 1e9) || null,
        tier: tier || EMPTY.tier,
        tier_throughput: Number(throughput) || null,
        tier_price: price === "" ? null : Number(price),
      },
      { onSuccess: onClose },
    );
  return (
    <Modal opened onClose={onClose} title="New volume" size="lg" closeButtonProps={{ "aria-label": "Close" }}>
      <form onSubmit={form.onSubmit(send)}>
        <Stack>
          <TextInput
            label="Name"
            required
            data-autofocus
            autoComplete="off"
            {...form.getInputProps("name")}
          />
          <TextInput
            label="Directory"
            description="An empty directory, as the machines of the site see it; normally an NFS mount"
            placeholder="/mnt/fast"
            required
            autoComplete="off"
            {...form.getInputProps("path")}
          />
          <Group grow align="flex-start">
            <Select label="Site" data={sites} allowDeselect={false} {...form.getInputProps("site")} />
            <NumberInput
              label="Capacity (GB)"
              placeholder="what is free there"
              min={0}
              {...form.getInputProps("capacityGb")}
            />
          </Group>
          <TierFields inputProps={form.getInputProps} />
          {add.error && <ErrorNotice error={add.error} />}
          <Button type="submit" loading={add.isPending}>
            Add
          </Button>
          <div>
            <Text size="xs" c="dimmed" mb={2}>
              The same on the command line
            </Text>
            <CommandLine command={commandLineOf(form.values)} />
          </div>
        </Stack>
      </form>
    </Modal>
  );
}

export function commandLineOf({ name, path, site, capacityGb, tier, throughput, price }: Draft): string {
  const parts = [
    "mill volume add",
    name ? shellQuote(name) : "NAME",
    path ? shellQuote(path) : "DIRECTORY",
    site !== "local" && `--site ${shellQuote(site)}`,
    Number(capacityGb) > 0 && `--capacity ${capacityGb}GB`,
    tier && tier !== EMPTY.tier && `--tier ${shellQuote(tier)}`,
    Number(throughput) > 0 && `--tier-throughput ${throughput}`,
    price !== "" && `--tier-price ${price}`,
  ];
  return parts.filter(Boolean).join(" ");
}

import { Button, Group, Modal, Stack, Text, TextInput } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { useState } from "react";
import { useSession } from "../../../api/session";
import type { Site } from "../../../api/shapes";
import { useChangeSite } from "../../../api/topology";
import { CommandLine } from "../../../components/Copyable";
import { ErrorNotice } from "../../../components/ErrorNotice";
import { shellQuote } from "../../../lib/names";

/** Where agents of other sites fetch what is cached at this one; administrators change it. */
export function SiteAddress({ site }: { site: Site }) {
  const [opened, dialog] = useDisclosure(false);
  const isAdmin = useSession()?.user.is_admin;
  return (
    <Group gap="xs">
      <Text size="sm" c="dimmed">
        {site.address
          ? `Other sites fetch cached commits at ${site.address}`
          : "Other sites fetch nothing from here"}
      </Text>
      {isAdmin && (
        <Button
          size="compact-xs"
          variant="default"
          aria-label={`Set the address of ${site.name}`}
          onClick={dialog.open}
        >
          Set address
        </Button>
      )}
      {opened && <AddressForm site={site} onClose={dialog.close} />}
    </Group>
  );
}

function AddressForm({ site, onClose }: { site: Site; onClose: () => void }) {
  const change = useChangeSite();
  const [address, setAddress] = useState(site.address ?? "");
  const said = address.trim();
  return (
    <Modal
      opened
      onClose={onClose}
      title={`Address of ${site.name}`}
      closeButtonProps={{ "aria-label": "Close" }}
    >
      <form
        onSubmit={(event) => {
          event.preventDefault();
          change.mutate({ site: site.name, address: said || null }, { onSuccess: onClose });
        }}
      >
        <Stack>
          <TextInput
            label="Address"
            description="HOST:PORT of the agent there, which runs with --listen. Empty: nowhere."
            placeholder="gpu1.example.org:8425"
            data-autofocus
            autoComplete="off"
            value={address}
            onChange={(event) => setAddress(event.currentTarget.value)}
          />
          {change.error && <ErrorNotice error={change.error} />}
          <Button type="submit" loading={change.isPending}>
            Save
          </Button>
          <div>
            <Text size="xs" c="dimmed" mb={2}>
              The same on the command line
            </Text>
            <CommandLine
              command={`mill site set ${shellQuote(site.name)} --address ${said ? shellQuote(said) : "none"}`}
            />
          </div>
        </Stack>
      </form>
    </Modal>
  );
}

import { Button, Modal, Stack, Text, TextInput } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { IconPlus, IconTrash } from "@tabler/icons-react";
import { useState } from "react";
import { useSession } from "../../../api/session";
import { useAddSite, useRemoveSite } from "../../../api/topology";
import { ConfirmByName } from "../../../components/ConfirmByName";
import { CommandLine } from "../../../components/Copyable";
import { ErrorNotice } from "../../../components/ErrorNotice";
import { shellQuote } from "../../../lib/names";

/** For site administrators. */
export function NewSiteButton() {
  const [opened, dialog] = useDisclosure(false);
  if (!useSession()?.user.is_admin) return null;
  return (
    <>
      <Button leftSection={<IconPlus size={16} aria-hidden />} onClick={dialog.open}>
        New site
      </Button>
      {opened && <NewSite onClose={dialog.close} />}
    </>
  );
}

function NewSite({ onClose }: { onClose: () => void }) {
  const add = useAddSite();
  const [name, setName] = useState("");
  return (
    <Modal opened onClose={onClose} title="New site" closeButtonProps={{ "aria-label": "Close" }}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          add.mutate(name, { onSuccess: onClose });
        }}
      >
        <Stack>
          <TextInput
            label="Name"
            description="A data centre or cloud region."
            required
            data-autofocus
            autoComplete="off"
            value={name}
            onChange={(event) => setName(event.currentTarget.value)}
          />
          {add.error && <ErrorNotice error={add.error} />}
          <Button type="submit" loading={add.isPending}>
            Add
          </Button>
          <div>
            <Text size="xs" c="dimmed" mb={2}>
              The same on the command line
            </Text>
            <CommandLine command={`mill site add ${name ? shellQuote(name) : "NAME"}`} />
          </div>
        </Stack>
      </form>
    </Modal>
  );
}

/** Of a site where nothing stands: the server refuses the others. */
export function RemoveSite({ site }: { site: string }) {
  const remove = useRemoveSite();
  const [opened, dialog] = useDisclosure(false);
  if (!useSession()?.user.is_admin) return null;
  return (
    <>
      <Button
        size="compact-sm"
        variant="default"
        leftSection={<IconTrash size={14} aria-hidden />}
        aria-label={`Remove ${site}`}
        onClick={dialog.open}
      >
        Remove
      </Button>
      <ConfirmByName
        opened={opened}
        onClose={dialog.close}
        title={`Remove the site ${site}?`}
        name={site}
        explanation="Nothing stands there. What was said of its links is forgotten with it."
        action="Remove"
        onConfirm={() => remove.mutate(site, { onSuccess: dialog.close })}
        busy={remove.isPending}
        error={remove.error}
      />
    </>
  );
}

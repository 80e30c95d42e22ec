import { Button, Group, Modal, Stack, Text, TextInput } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { useState } from "react";
import { useSession } from "../../../api/session";
import type { Site } from "../../../api/shapes";
import { useLetPlacementsLast } from "../../../api/topology";
import { CommandLine } from "../../../components/Copyable";
import { ErrorNotice } from "../../../components/ErrorNotice";
import { durationProblem, parseDuration, writeDuration } from "../../../lib/duration";
import { shellQuote } from "../../../lib/names";
import { formatSeconds } from "../../../lib/quantity";

/** How long jobs go on at a site while their agent cannot reach the server; administrators change it. */
export function SitePlacements({ site }: { site: Site }) {
  const [opened, dialog] = useDisclosure(false);
  const isAdmin = useSession()?.user.is_admin;
  const lasting = site.placement_seconds;
  return (
    <Group gap="xs">
      <Text size="sm" c="dimmed">
        {lasting
          ? `Jobs go on for ${formatSeconds(lasting)} without the server`
          : "Jobs go on without the server as long as everywhere"}
      </Text>
      {isAdmin && (
        <Button
          size="compact-xs"
          variant="default"
          aria-label={`Set how long jobs go on at ${site.name}`}
          onClick={dialog.open}
        >
          Set time
        </Button>
      )}
      {opened && <PlacementsForm site={site} onClose={dialog.close} />}
    </Group>
  );
}

function PlacementsForm({ site, onClose }: { site: Site; onClose: () => void }) {
  const change = useLetPlacementsLast();
  const [text, setText] = useState(site.placement_seconds ? writeDuration(site.placement_seconds) : "");
  const said = text.trim();
  const problem = said ? durationProblem(said) : null;
  return (
    <Modal
      opened
      onClose={onClose}
      title={`Jobs without the server at ${site.name}`}
      closeButtonProps={{ "aria-label": "Close" }}
    >
      <form
        onSubmit={(event) => {
          event.preventDefault();
          if (problem) return;
          const seconds = said ? parseDuration(said) : null;
          change.mutate({ site: site.name, seconds }, { onSuccess: onClose });
        }}
      >
        <Stack>
          <TextInput
            label="Jobs go on for"
            description="While their agent cannot reach the server, from 1m to 30d. Jobs of a machine that is gone are placed again only after it. Empty: as everywhere."
            placeholder="24h"
            data-autofocus
            autoComplete="off"
            value={text}
            error={problem}
            onChange={(event) => setText(event.currentTarget.value)}
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
              command={`mill site set ${shellQuote(site.name)} --placements-last ${said ? shellQuote(said) : "default"}`}
            />
          </div>
        </Stack>
      </form>
    </Modal>
  );
}

import { Alert, Button, Group, List, Modal, Stack, Text, TextInput } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { useSession } from "../../../api/session";
import type { Site } from "../../../api/shapes";
import { lakeReplicasQuery, siteQuery, useChangeSite } from "../../../api/topology";
import { CommandLine } from "../../../components/Copyable";
import { ErrorNotice } from "../../../components/ErrorNotice";
import { shellQuote } from "../../../lib/names";

/** Where agents and jobs of a site read the lake, and what they find there; administrators change it. */
export function SiteLake({ site }: { site: Site }) {
  const [opened, dialog] = useDisclosure(false);
  const isAdmin = useSession()?.user.is_admin;
  const hasReplica = useQuery(lakeReplicasQuery).data?.items.some(({ sites }) => sites.includes(site.name));
  return (
    <div>
      <Group gap="xs">
        <Text size="sm" c="dimmed">
          {site.lake_endpoint
            ? `Reaches the lake at ${site.lake_endpoint}`
            : "Reaches the lake at its own endpoint"}
        </Text>
        {isAdmin && (
          <Button
            size="compact-xs"
            variant="default"
            aria-label={`Set the lake endpoint of ${site.name}`}
            onClick={dialog.open}
          >
            Set endpoint
          </Button>
        )}
      </Group>
      {(site.lake_endpoint || hasReplica) && <StoreProblems site={site.name} />}
      {opened && <EndpointForm site={site} onClose={dialog.close} />}
    </div>
  );
}

/** What agents of the site cannot read from. */
function StoreProblems({ site }: { site: string }) {
  const stores = useQuery(siteQuery(site)).data?.stores ?? [];
  const wrong = stores.filter((store) => store.problem);
  if (wrong.length === 0) return null;
  return (
    <List size="sm" spacing={2} c="red" style={{ overflowWrap: "anywhere" }}>
      {wrong.map((store) => (
        <List.Item key={store.id}>{store.problem}</List.Item>
      ))}
    </List>
  );
}

function EndpointForm({ site, onClose }: { site: Site; onClose: () => void }) {
  const change = useChangeSite();
  const [endpoint, setEndpoint] = useState(site.lake_endpoint ?? "");
  const said = endpoint.trim();
  const warning = change.data?.warning;
  return (
    <Modal
      opened
      onClose={onClose}
      title={`Lake endpoint of ${site.name}`}
      closeButtonProps={{ "aria-label": "Close" }}
    >
      <form
        onSubmit={(event) => {
          event.preventDefault();
          change.mutate(
            { site: site.name, lake_endpoint: said || null },
            { onSuccess: (changed) => changed.warning || onClose() },
          );
        }}
      >
        <Stack>
          <TextInput
            label="Lake endpoint"
            description="URL at which agents and jobs of this site reach the lake. Empty: the endpoint that all use."
            placeholder="https://10.0.0.5:9000"
            data-autofocus
            autoComplete="off"
            value={endpoint}
            onChange={(event) => setEndpoint(event.currentTarget.value)}
          />
          {change.error && <ErrorNotice error={change.error} />}
          {warning && (
            <Alert color="yellow" title="Saved, but not reached from the server">
              {warning} Agents of the site try it and report here.
            </Alert>
          )}
          <Button type="submit" loading={change.isPending}>
            Save
          </Button>
          <div>
            <Text size="xs" c="dimmed" mb={2}>
              The same on the command line
            </Text>
            <CommandLine
              command={`mill site set ${shellQuote(site.name)} --lake-endpoint ${said ? shellQuote(said) : "none"}`}
            />
          </div>
        </Stack>
      </form>
    </Modal>
  );
}

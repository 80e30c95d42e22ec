import { Button, Group, Modal, Stack, Switch, Text } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { type FormEvent, useState } from "react";
import { usePushToEdge, useRollBackEdge } from "../../../api/endpoints";
import { useMay } from "../../../api/session";
import type { Endpoint, EndpointSiteState } from "../../../api/shapes";
import { CommandLine } from "../../../components/Copyable";
import { ErrorNotice } from "../../../components/ErrorNotice";
import { notifyDone, tell } from "../../../components/notify";
import { shellQuote } from "../../../lib/names";
import { VersionSelect } from "./VersionSelect";

interface Props {
  endpoint: Endpoint;
  site: EndpointSiteState;
}

/** Another version for one site, and the one before back again. */
export function SitePush({ endpoint, site }: Props) {
  const may = useMay(endpoint.project, "member");
  const [opened, dialog] = useDisclosure(false);
  const rollBack = useRollBackEdge({ project: endpoint.project, endpoint: endpoint.name });
  if (!may) return site.is_pushed ? "pushed" : "–";
  const goBack = () =>
    void tell(rollBack.mutateAsync([site.site]), () =>
      notifyDone(`${site.site} goes back to the version before.`),
    );
  return (
    <Group gap={4} wrap="nowrap">
      <Button size="xs" variant="default" aria-label={`Push a version to ${site.site}`} onClick={dialog.open}>
        Push
      </Button>
      {site.is_pushed && (
        <Button
          size="xs"
          variant="default"
          color="red"
          aria-label={`Roll back ${site.site}`}
          loading={rollBack.isPending}
          onClick={goBack}
        >
          Roll back
        </Button>
      )}
      {opened && <PushForm endpoint={endpoint} site={site} onClose={dialog.close} />}
    </Group>
  );
}

function PushForm({ endpoint, site, onClose }: Props & { onClose: () => void }) {
  const push = usePushToEdge(endpoint.project);
  const model = endpoint.versions[0]?.model ?? "";
  const [version, setVersion] = useState<string | null>(null);
  const [everywhere, setEverywhere] = useState(false);
  const written = `${model}@${version ?? "VERSION"}`;
  const sites = everywhere ? endpoint.sites.map((one) => one.site) : [site.site];
  const submit = (event: FormEvent) => {
    event.preventDefault();
    push.mutate(
      { model: written, sites, endpoint: endpoint.name, unchecked: false },
      {
        onSuccess: () => {
          notifyDone(`${written} pushed to ${sites.join(", ")}.`);
          onClose();
        },
      },
    );
  };
  return (
    <Modal
      opened
      onClose={onClose}
      title={`Push a version to ${site.site}`}
      closeButtonProps={{ "aria-label": "Close" }}
    >
      <form onSubmit={submit}>
        <Stack>
          <Text size="sm">
            {site.is_online
              ? "The site loads and warms it up first; until then it goes on with what it serves."
              : "The site is silent. It goes on with what it serves, and swaps when it is back."}
          </Text>
          <VersionSelect project={endpoint.project} model={model} value={version} onChange={setVersion} />
          {endpoint.sites.length > 1 && (
            <Switch
              label={`To all ${endpoint.sites.length} sites of the endpoint`}
              checked={everywhere}
              onChange={(event) => setEverywhere(event.currentTarget.checked)}
            />
          )}
          {push.error && <ErrorNotice error={push.error} />}
          <Group justify="flex-end">
            <Button variant="default" onClick={onClose}>
              Cancel
            </Button>
            <Button type="submit" loading={push.isPending} disabled={!version}>
              Push
            </Button>
          </Group>
          <CommandLine
            wrap
            command={`mill edge push ${shellQuote(written)} ${sites.map((one) => `--site ${shellQuote(one)}`).join(" ")} --endpoint ${endpoint.name}`}
          />
        </Stack>
      </form>
    </Modal>
  );
}

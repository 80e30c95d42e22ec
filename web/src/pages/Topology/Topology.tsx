import { Paper, Stack, Text, Title } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { topologyQuery } from "../../api/topology";
import { CommandLine } from "../../components/Copyable";
import { Loaded } from "../../components/Loaded";
import { PageHeader } from "../../components/PageHeader";
import { WaitingCards } from "../../components/Waiting";
import { plural } from "../../lib/quantity";
import { Drawing } from "./parts/Drawing";
import { EgressSection } from "./parts/EgressSection";
import { LakeReplicas } from "./parts/LakeReplicas";
import { SetLinkButton } from "./parts/LinkForms";
import { LinkList } from "./parts/LinkList";
import { NewSiteButton } from "./parts/SiteForms";
import { SiteList } from "./parts/SiteList";

/** Which storage is near which compute, drawn and in words. */
export function TopologyPage() {
  const result = useQuery(topologyQuery);
  const sites = result.data?.sites.map((site) => site.name) ?? [];
  return (
    <>
      <PageHeader
        title="Topology"
        below={
          result.data && (
            <Text c="dimmed">
              {[
                plural(sites.length, "site"),
                plural(result.data.volumes.length, "volume"),
                plural(result.data.computes.length, "compute"),
                plural(result.data.links.length, "link"),
              ].join(" · ")}
            </Text>
          )
        }
        actions={
          <>
            <SetLinkButton sites={sites} />
            <NewSiteButton />
          </>
        }
      />
      <Loaded result={result} waiting={<WaitingCards cards={2} height={220} />}>
        {(topology) => (
          <Stack gap="xl">
            <Paper withBorder p="md">
              <Drawing topology={topology} />
            </Paper>
            <LinkList links={topology.links} />
            <EgressSection />
            <section>
              <Title order={2} size="h4" mb="xs">
                Sites
              </Title>
              <SiteList topology={topology} />
            </section>
            <LakeReplicas sites={sites} />
            <div>
              <Text size="xs" c="dimmed" mb={2}>
                The same on the command line
              </Text>
              <CommandLine command="mill topology" />
            </div>
          </Stack>
        )}
      </Loaded>
    </>
  );
}

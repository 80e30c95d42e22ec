import { Breadcrumbs, Tabs, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { datasetQuery } from "../../api/datasets";
import { isNotFound } from "../../api/problem";
import type { Dataset } from "../../api/shapes";
import { Loaded } from "../../components/Loaded";
import { NotFound } from "../../components/NotFound";
import { PageHeader } from "../../components/PageHeader";
import { TextLink } from "../../components/TextLink";
import { Time } from "../../components/Time";
import { formatBytes, plural } from "../../lib/quantity";
import { CommitsTab } from "./parts/CommitsTab";
import { DiffTab } from "./parts/DiffTab";
import { FilesTab } from "./parts/FilesTab";
import { SettingsTab } from "./parts/SettingsTab";

const route = getRouteApi("/in/projects/$project/datasets/$dataset");

export function DatasetDetails() {
  const place = route.useParams();
  const result = useQuery(datasetQuery(place));
  if (isNotFound(result.error)) return <NotFound message={result.error?.message} />;
  return (
    <>
      <PageHeader
        title={place.dataset}
        above={
          <Breadcrumbs mb={4} fz="sm">
            <TextLink to="/datasets" size="sm">
              Datasets
            </TextLink>
            <TextLink to="/datasets" search={{ project: place.project }} size="sm">
              {place.project}
            </TextLink>
          </Breadcrumbs>
        }
        below={result.data && <Summary dataset={result.data} />}
      />
      <Loaded result={result}>{(dataset) => <DatasetTabs dataset={dataset} />}</Loaded>
    </>
  );
}

function Summary({ dataset }: { dataset: Dataset }) {
  const parts = [
    formatBytes(dataset.bytes),
    plural(dataset.files, "file"),
    plural(dataset.commits, "commit"),
    plural(dataset.cached_commits, "Cached Commit"),
  ];
  return (
    <>
      {dataset.description && <Text>{dataset.description}</Text>}
      <Text c="dimmed" size="sm" component="div">
        {parts.join(" · ")} · <Time at={dataset.active_at} prefix="Active " />
      </Text>
    </>
  );
}

function DatasetTabs({ dataset }: { dataset: Dataset }) {
  const { tab = "commits" } = route.useSearch();
  const navigate = route.useNavigate();
  const change = (value: string | null) =>
    navigate({ search: (now) => ({ ref: now.ref, tab: value as typeof tab }) });
  return (
    <Tabs value={tab} onChange={change} keepMounted={false}>
      <Tabs.List mb="md">
        <Tabs.Tab value="commits">Commits</Tabs.Tab>
        <Tabs.Tab value="files">Files</Tabs.Tab>
        <Tabs.Tab value="diff">Diff</Tabs.Tab>
        <Tabs.Tab value="settings">Settings</Tabs.Tab>
      </Tabs.List>
      <Tabs.Panel value="commits">
        <CommitsTab dataset={dataset} />
      </Tabs.Panel>
      <Tabs.Panel value="files">
        <FilesTab dataset={dataset} />
      </Tabs.Panel>
      <Tabs.Panel value="diff">
        <DiffTab dataset={dataset} />
      </Tabs.Panel>
      <Tabs.Panel value="settings">
        <SettingsTab dataset={dataset} />
      </Tabs.Panel>
    </Tabs>
  );
}

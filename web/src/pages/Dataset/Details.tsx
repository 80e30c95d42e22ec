import { Breadcrumbs, Tabs, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { datasetQuery, refsQuery } from "../../api/datasets";
import { isNotFound } from "../../api/problem";
import type { Dataset } from "../../api/shapes";
import { Loaded } from "../../components/Loaded";
import { NotFound } from "../../components/NotFound";
import { PageHeader } from "../../components/PageHeader";
import { TextLink } from "../../components/TextLink";
import { Time } from "../../components/Time";
import { formatBytes, plural } from "../../lib/quantity";
import { ImportButton } from "../Source/parts/ImportButton";
import { CommitsTab } from "./parts/CommitsTab";
import { CommitView } from "./parts/CommitView";
import { DiffTab } from "./parts/DiffTab";
import { FilesTab } from "./parts/FilesTab";
import { LineageTab } from "./parts/LineageTab";
import { ReadOnlyNotice } from "./parts/ReadOnlyNotice";
import { RefsTab } from "./parts/RefsTab";
import { SettingsTab } from "./parts/SettingsTab";
import { UnfinishedUploads } from "./upload/UnfinishedUploads";
import { UploadArea } from "./upload/UploadArea";
import { UploadButton } from "./upload/UploadButton";

const route = getRouteApi("/in/projects/$project/datasets/$dataset");

export function DatasetDetails() {
  const place = route.useParams();
  const result = useQuery(datasetQuery(place));
  if (isNotFound(result.error)) return <NotFound message={result.error?.message} />;
  return (
    <Loaded result={result}>
      {(dataset) => (
        <Uploading dataset={dataset}>
          <Header dataset={dataset} />
          <ReadOnlyNotice dataset={dataset} />
          <UnfinishedUploads {...place} />
          <DatasetTabs dataset={dataset} />
        </Uploading>
      )}
    </Loaded>
  );
}

/** Uploads go to the branch and the directory that are shown; a tag or a commit shown cannot be changed. */
function Uploading({ dataset, children }: { dataset: Dataset; children: React.ReactNode }) {
  const { ref, path = "" } = route.useSearch();
  const refs = useQuery(refsQuery({ project: dataset.project, dataset: dataset.name })).data?.items ?? [];
  const shown = refs.find((known) => known.name === ref && known.type === "branch");
  return (
    <UploadArea dataset={dataset} branch={shown?.name ?? dataset.default_branch} path={path}>
      {children}
    </UploadArea>
  );
}

function Header({ dataset }: { dataset: Dataset }) {
  const { ref, path = "" } = route.useSearch();
  return (
    <PageHeader
      title={dataset.name}
      above={
        <Breadcrumbs mb={4} fz="sm">
          <TextLink to="/datasets" size="sm">
            Datasets
          </TextLink>
          <TextLink to="/datasets" search={{ project: dataset.project }} size="sm">
            {dataset.project}
          </TextLink>
        </Breadcrumbs>
      }
      below={<Summary dataset={dataset} />}
      actions={
        <>
          {dataset.kind === "data" && <ImportButton dataset={dataset} shown={ref} path={path} />}
          <UploadButton />
        </>
      }
    />
  );
}

function Summary({ dataset }: { dataset: Dataset }) {
  const parts = [
    // Of what jobs ran and made no commit stands for all.
    ...(dataset.kind === "data" ? [formatBytes(dataset.bytes), plural(dataset.files, "file")] : []),
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
  const { tab = "commits", ref } = route.useSearch();
  const navigate = route.useNavigate();
  // One commit is part of the list it was chosen from, to which its tab leads back.
  const shown = tab === "commit" ? "commits" : tab;
  const change = (value: string | null) => {
    const isBack = tab === "commit" && value === "commits";
    void navigate({ search: { ref: isBack ? undefined : ref, tab: value as typeof tab } });
  };
  return (
    <Tabs value={shown} onChange={change} keepMounted={false}>
      <Tabs.List mb="md">
        <Tabs.Tab value="commits">Commits</Tabs.Tab>
        <Tabs.Tab value="files">Files</Tabs.Tab>
        <Tabs.Tab value="diff">Compare</Tabs.Tab>
        <Tabs.Tab value="lineage">Lineage</Tabs.Tab>
        {dataset.kind === "data" && <Tabs.Tab value="refs">Branches and tags</Tabs.Tab>}
        <Tabs.Tab value="settings">Settings</Tabs.Tab>
      </Tabs.List>
      <Tabs.Panel value="commits">
        {tab === "commit" && ref ? (
          <CommitView dataset={dataset} commit={ref} />
        ) : (
          <CommitsTab dataset={dataset} />
        )}
      </Tabs.Panel>
      <Tabs.Panel value="files">
        <FilesTab dataset={dataset} />
      </Tabs.Panel>
      <Tabs.Panel value="diff">
        <DiffTab dataset={dataset} />
      </Tabs.Panel>
      <Tabs.Panel value="lineage">
        <LineageTab dataset={dataset} />
      </Tabs.Panel>
      <Tabs.Panel value="refs">
        <RefsTab dataset={dataset} />
      </Tabs.Panel>
      <Tabs.Panel value="settings">
        <SettingsTab dataset={dataset} />
      </Tabs.Panel>
    </Tabs>
  );
}

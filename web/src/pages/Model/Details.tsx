/** One model: its versions, two of them compared, those in the bin. */
import { Breadcrumbs, SimpleGrid, Stack, Text } from "@mantine/core";
import { IconCube } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { modelQuery, useChangeModel, versionPages } from "../../api/models";
import { isNotFound } from "../../api/problem";
import { useMay } from "../../api/session";
import type { Model } from "../../api/shapes";
import { EditableMarkdown } from "../../components/EditableMarkdown";
import { EmptyState } from "../../components/EmptyState";
import { Loaded } from "../../components/Loaded";
import { NotFound } from "../../components/NotFound";
import { tell } from "../../components/notify";
import { PageHeader } from "../../components/PageHeader";
import { Pages } from "../../components/Pages";
import { TabBar } from "../../components/TabBar";
import { TagEditor } from "../../components/TagEditor";
import { TextLink } from "../../components/TextLink";
import { Time } from "../../components/Time";
import { useTopic } from "../../hooks/useLive";
import { shellQuote } from "../../lib/names";
import { plural } from "../../lib/quantity";
import { CompareTab } from "./parts/CompareTab";
import { ModelMenu } from "./parts/ModelMenu";
import { VersionBin } from "./parts/VersionBin";
import { VersionTable } from "./parts/VersionTable";
import { MODEL_TAB_LABELS, MODEL_TABS, type ModelSearch } from "./tabs";

const route = getRouteApi("/in/projects/$project/models/$model");

export function ModelDetails() {
  const place = route.useParams();
  const result = useQuery(modelQuery(place));
  useTopic("models");
  if (isNotFound(result.error)) return <NotFound message={result.error?.message} />;
  return <Loaded result={result}>{(model) => <Parts model={model} />}</Loaded>;
}

function Parts({ model }: { model: Model }) {
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const { tab = "versions" } = search;
  const show = (part: ModelSearch) => void navigate({ search: { ...search, ...part }, resetScroll: false });
  return (
    <Stack gap={0}>
      <PageHeader
        title={model.name}
        above={
          <Breadcrumbs mb={4} fz="sm">
            <TextLink to="/models" size="sm">
              Models
            </TextLink>
            <TextLink to="/models" search={{ project: model.project }} size="sm">
              {model.project}
            </TextLink>
          </Breadcrumbs>
        }
        below={
          <Text c="dimmed" size="sm" component="div">
            {plural(model.versions, "version")} · <Time at={model.changed_at} prefix="Updated " /> · Created
            by {model.created_by}
          </Text>
        }
        actions={<ModelMenu model={model} />}
      />
      <TabBar
        label={`Parts of ${model.name}`}
        tabs={MODEL_TABS}
        names={MODEL_TAB_LABELS}
        value={tab}
        onChange={(chosen) => void navigate({ search: { tab: chosen, metrics: search.metrics } })}
      >
        {tab === "versions" && <Versions model={model} search={search} onSearch={show} />}
        {tab === "compare" && (
          <CompareTab model={model} before={search.before} after={search.after} onChange={show} />
        )}
        {tab === "bin" && <VersionBin place={{ project: model.project, model: model.name }} />}
      </TabBar>
    </Stack>
  );
}

interface VersionsProps {
  model: Model;
  search: ModelSearch;
  onSearch: (part: ModelSearch) => void;
}

function Versions({ model, search, onSearch }: VersionsProps) {
  const place = { project: model.project, model: model.name };
  return (
    <Stack gap="xl">
      <Pages
        list={`${model.project}/${model.name}`}
        query={versionPages(place)}
        page={search.page}
        onTurn={(page) => onSearch({ page })}
        empty={<NoVersions name={model.name} />}
      >
        {(versions) => (
          <VersionTable
            versions={versions}
            metrics={search.metrics}
            onMetrics={(metrics) => onSearch({ metrics })}
            onCompare={(before, after) => onSearch({ tab: "compare", before, after })}
          />
        )}
      </Pages>
      <About model={model} />
    </Stack>
  );
}

function About({ model }: { model: Model }) {
  const may = useMay(model.project, "member");
  const change = useChangeModel({ project: model.project, model: model.name });
  return (
    <SimpleGrid cols={{ base: 1, md: 2 }}>
      <EditableMarkdown
        title="Description"
        text={model.description}
        hint="What it is for, and how it may be used."
        may={may}
        onSave={(description) => change.mutateAsync({ description })}
      />
      <TagEditor tags={model.tags} may={may} onPut={(tags) => void tell(change.mutateAsync({ tags }))} />
    </SimpleGrid>
  );
}

function NoVersions({ name }: { name: string }) {
  return (
    <EmptyState
      icon={IconCube}
      sentence="No versions yet. Register one from the artifacts of a run."
      command={`mill model register ${shellQuote(name)} --from RUN:model`}
    />
  );
}

/** One version of a model: what it is, what it was made from, its files. */
import { Breadcrumbs, Group, Stack, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { versionQuery } from "../../api/models";
import { isNotFound } from "../../api/problem";
import type { ModelVersion } from "../../api/shapes";
import { Loaded } from "../../components/Loaded";
import { LineageView } from "../../components/lineage/LineageView";
import { NotFound } from "../../components/NotFound";
import { PageHeader } from "../../components/PageHeader";
import { TabBar } from "../../components/TabBar";
import { TextLink } from "../../components/TextLink";
import { Time } from "../../components/Time";
import { useTopic } from "../../hooks/useLive";
import { shellQuote } from "../../lib/names";
import { formatBytes, plural } from "../../lib/quantity";
import { Aliases } from "./parts/Aliases";
import { StageSelect } from "./parts/StageSelect";
import { VersionActions } from "./parts/VersionActions";
import { VersionFiles } from "./parts/VersionFiles";
import { VersionOverview } from "./parts/VersionOverview";
import { VERSION_TAB_LABELS, VERSION_TABS } from "./tabs";

const route = getRouteApi("/in/projects/$project/models/$model/versions/$version");

export function ModelVersionDetails() {
  const place = route.useParams();
  const result = useQuery(versionQuery(place));
  useTopic("models");
  if (isNotFound(result.error)) return <NotFound message={result.error?.message} />;
  return <Loaded result={result}>{(version) => <Parts version={version} />}</Loaded>;
}

function Parts({ version }: { version: ModelVersion }) {
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const { tab = "overview" } = search;
  const show = (chosen: typeof search) => void navigate({ search: chosen, resetScroll: false });
  return (
    <Stack gap={0}>
      <Header version={version} />
      <TabBar
        label={`Parts of version ${version.version}`}
        tabs={VERSION_TABS}
        names={VERSION_TAB_LABELS}
        value={tab}
        onChange={(chosen) => show({ tab: chosen })}
      >
        {tab === "overview" && <VersionOverview version={version} />}
        {tab === "files" && <VersionFiles version={version} search={search} onSearch={show} />}
        {tab === "lineage" && (
          <LineageView
            project={version.project}
            root={{ commit: `${version.dataset}@${version.commit}` }}
            command={`mill data lineage ${shellQuote(`${version.dataset}@${version.version}`)} --graph`}
          />
        )}
      </TabBar>
    </Stack>
  );
}

function Header({ version }: { version: ModelVersion }) {
  const { project, model } = version;
  const size =
    version.state === "elsewhere"
      ? "files elsewhere"
      : `${plural(version.files, "file")} · ${formatBytes(version.bytes)}`;
  return (
    <PageHeader
      title={`${model} version ${version.version}`}
      above={
        <Breadcrumbs mb={4} fz="sm">
          <TextLink to="/models" size="sm">
            Models
          </TextLink>
          <TextLink to="/models" search={{ project }} size="sm">
            {project}
          </TextLink>
          <TextLink to="/projects/$project/models/$model" params={{ project, model }} size="sm">
            {model}
          </TextLink>
        </Breadcrumbs>
      }
      below={
        <Stack gap={6} mt={4}>
          <Group gap="sm">
            <StageSelect version={version} />
            <Aliases version={version} />
          </Group>
          <Text c="dimmed" size="sm" component="div">
            {size} · <Time at={version.created_at} prefix="Registered " /> by {version.created_by}
          </Text>
        </Stack>
      }
      actions={<VersionActions version={version} />}
    />
  );
}

/** One search while it runs and afterwards: what it does and why, its best trials, all trials, charts. */
import { Breadcrumbs, Group, Stack, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { getRouteApi, useNavigate } from "@tanstack/react-router";
import { isNotFound } from "../../api/problem";
import { searchQuery } from "../../api/searches";
import type { Search } from "../../api/shapes";
import { Duration } from "../../components/Duration";
import { Loaded } from "../../components/Loaded";
import { NotFound } from "../../components/NotFound";
import { PageHeader } from "../../components/PageHeader";
import { Status } from "../../components/Status";
import { TabBar } from "../../components/TabBar";
import { TextLink } from "../../components/TextLink";
import { Time } from "../../components/Time";
import { useTopic } from "../../hooks/useLive";
import { FrontTab } from "./parts/FrontTab";
import { ParallelTrials } from "./parts/ParallelTrials";
import { SearchActions } from "./parts/SearchActions";
import { SearchOverview } from "./parts/SearchOverview";
import { TrialsTab } from "./parts/TrialsTab";
import { SEARCH_TAB_LABELS, type SearchSearch, searchTabsOf } from "./tabs";

const route = getRouteApi("/in/projects/$project/searches/$search");

export function SearchDetails() {
  const place = route.useParams();
  const result = useQuery(searchQuery(place));
  useTopic("searches");
  if (isNotFound(result.error)) return <NotFound message={result.error?.message} />;
  return <Loaded result={result}>{(search) => <Parts search={search} />}</Loaded>;
}

function Parts({ search }: { search: Search }) {
  const shown = route.useSearch();
  const navigate = route.useNavigate();
  const tabs = searchTabsOf(search);
  const tab = shown.tab && tabs.includes(shown.tab) ? shown.tab : "overview";
  const change = (part: SearchSearch) =>
    void navigate({ search: (before) => ({ ...before, ...part }), replace: true, resetScroll: false });
  const common = { search, shown, onChange: change };
  return (
    <Stack gap={0}>
      <Header search={search} />
      <TabBar
        label={`Parts of ${search.name}`}
        tabs={tabs}
        names={SEARCH_TAB_LABELS}
        value={tab}
        onChange={(chosen) => void navigate({ search: { tab: chosen } })}
      >
        {tab === "overview" && <SearchOverview search={search} />}
        {tab === "trials" && <TrialsTab {...common} />}
        {tab === "front" && <FrontTab {...common} />}
        {tab === "parallel" && <Parallel {...common} />}
      </TabBar>
    </Stack>
  );
}

interface ParallelProps {
  search: Search;
  shown: SearchSearch;
  onChange: (part: SearchSearch) => void;
}

/** Marked trials are opened side by side as runs. */
function Parallel({ search, shown, onChange }: ParallelProps) {
  const navigate = useNavigate();
  const compare = (runs: string) =>
    void navigate({
      to: "/projects/$project/runs/compare",
      params: { project: search.project },
      search: { runs },
    });
  return (
    <ParallelTrials
      search={search}
      axes={shown.axes}
      onAxes={(axes) => onChange({ axes })}
      onCompare={compare}
    />
  );
}

function Header({ search }: { search: Search }) {
  const { project } = search;
  return (
    <PageHeader
      title={search.name}
      above={
        <Breadcrumbs mb={4} fz="sm">
          <TextLink to="/searches" size="sm">
            Searches
          </TextLink>
          <TextLink to="/searches" search={{ project }} size="sm">
            {project}
          </TextLink>
        </Breadcrumbs>
      }
      below={
        <Group gap="xs" mt={4}>
          <Status state={search.state} size="lg" />
          <Text size="sm" c="dimmed" component="div">
            <Time at={search.created_at} prefix="Started " /> by {search.created_by} ·{" "}
            <Duration start={search.created_at} end={search.ended_at} />
          </Text>
        </Group>
      }
      actions={<SearchActions search={search} />}
    />
  );
}

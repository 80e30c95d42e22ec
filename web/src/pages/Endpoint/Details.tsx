/** One endpoint: what it serves and where, its history and settings; a request tried out. */
import { Alert, Breadcrumbs, Stack, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { endpointQuery } from "../../api/endpoints";
import { isNotFound } from "../../api/problem";
import type { Endpoint } from "../../api/shapes";
import { Loaded } from "../../components/Loaded";
import { MlperfTables } from "../../components/mlperf/MlperfTables";
import { NotFound } from "../../components/NotFound";
import { PageHeader } from "../../components/PageHeader";
import { Status } from "../../components/Status";
import { TabBar } from "../../components/TabBar";
import { TextLink } from "../../components/TextLink";
import { Time } from "../../components/Time";
import { useTopic } from "../../hooks/useLive";
import { Drift } from "./parts/Drift";
import { EndpointActions } from "./parts/EndpointActions";
import { History } from "./parts/History";
import { Overview } from "./parts/Overview";
import { Replays } from "./parts/Replays";
import { Settings } from "./parts/Settings";
import { Traffic } from "./parts/Traffic";
import { TryIt } from "./parts/TryIt";
import { ENDPOINT_TAB_LABELS, ENDPOINT_TABS } from "./tabs";

const route = getRouteApi("/in/projects/$project/endpoints/$endpoint");
/** Alerts that are spelled out at the top of the page. */
const TOLD = 3;

export function EndpointDetails() {
  const place = route.useParams();
  const result = useQuery(endpointQuery(place));
  useTopic("endpoints");
  if (isNotFound(result.error)) return <NotFound message={result.error?.message} />;
  return <Loaded result={result}>{(endpoint) => <Parts endpoint={endpoint} />}</Loaded>;
}

function Parts({ endpoint }: { endpoint: Endpoint }) {
  const { tab = "overview" } = route.useSearch();
  const navigate = route.useNavigate();
  return (
    <Stack gap={0}>
      <Header endpoint={endpoint} />
      <TabBar
        label={`Parts of ${endpoint.name}`}
        tabs={ENDPOINT_TABS}
        names={ENDPOINT_TAB_LABELS}
        value={tab}
        onChange={(chosen) => void navigate({ search: { tab: chosen }, resetScroll: false })}
      >
        {tab === "overview" && <Overview endpoint={endpoint} />}
        {tab === "traffic" && <Traffic endpoint={endpoint} />}
        {tab === "drift" && <Drift endpoint={endpoint} />}
        {tab === "replay" && <Replays endpoint={endpoint} />}
        {tab === "performance" && <MlperfTables project={endpoint.project} model={endpoint.name} />}
        {tab === "try" && <TryIt endpoint={endpoint} />}
        {tab === "history" && <History endpoint={endpoint} />}
        {tab === "settings" && <Settings endpoint={endpoint} />}
      </TabBar>
    </Stack>
  );
}

function Header({ endpoint }: { endpoint: Endpoint }) {
  const { project } = endpoint;
  return (
    <PageHeader
      title={endpoint.name}
      above={
        <Breadcrumbs mb={4} fz="sm">
          <TextLink to="/endpoints" size="sm">
            Endpoints
          </TextLink>
          <TextLink to="/endpoints" search={{ project }} size="sm">
            {project}
          </TextLink>
        </Breadcrumbs>
      }
      below={
        <Stack gap={6} mt={4}>
          <Text size="sm" c="dimmed" component="div">
            <Status state={endpoint.state} /> revision {endpoint.revision} ·{" "}
            <Time at={endpoint.changed_at} prefix="changed " /> · made by {endpoint.created_by}
          </Text>
          <Reasons endpoint={endpoint} />
        </Stack>
      }
      actions={<EndpointActions endpoint={endpoint} />}
    />
  );
}

/** Why it is in this state; loud only where something is wrong. */
function Reasons({ endpoint }: { endpoint: Endpoint }) {
  const isWrong = endpoint.state === "failing" || endpoint.state === "degraded";
  const reasons = endpoint.reasons.filter((reason) => !endpoint.drift_alerts.includes(reason));
  // What failed for good says more than the reasons that it was made of.
  const told = endpoint.failure ? [...reasons.slice(0, 1), endpoint.failure] : reasons;
  return (
    <>
      <Lines lines={told} isWrong={isWrong} />
      {endpoint.drift_alerts.length > 0 && <DriftBanner endpoint={endpoint} />}
    </>
  );
}

function Lines({ lines, isWrong }: { lines: string[]; isWrong: boolean }) {
  const said = lines.map((reason) => (
    <Text key={reason} size="sm" style={{ overflowWrap: "anywhere" }}>
      {reason}
    </Text>
  ));
  if (!isWrong) return <>{said}</>;
  return (
    <Alert color="orange" p="xs">
      {said}
    </Alert>
  );
}

/** What its requests have too much of, and where to look. */
function DriftBanner({ endpoint }: { endpoint: Endpoint }) {
  const { project, name, drift_alerts: alerts } = endpoint;
  const more = alerts.length - TOLD;
  return (
    <Alert color="orange" p="xs" title="Requests have moved away from the reference">
      {alerts.slice(0, TOLD).map((alert) => (
        <Text key={alert} size="sm">
          {alert}
        </Text>
      ))}
      <Text size="sm">
        {more > 0 && `${more} more. `}
        <TextLink
          to="/projects/$project/endpoints/$endpoint"
          params={{ project, endpoint: name }}
          search={{ tab: "drift" }}
          size="sm"
        >
          See by column
        </TextLink>
      </Text>
    </Alert>
  );
}

/** One workspace: how it stands, its snapshots as a timeline, files and differences, clones, settings. */
import { Alert, Breadcrumbs, Progress, Stack, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { isNotFound } from "../../api/problem";
import type { Workspace } from "../../api/shapes";
import { workspaceQuery } from "../../api/workspaces";
import { Facts } from "../../components/Facts";
import { Loaded } from "../../components/Loaded";
import { NotFound } from "../../components/NotFound";
import { PageHeader } from "../../components/PageHeader";
import { Status } from "../../components/Status";
import { TabBar } from "../../components/TabBar";
import { TextLink } from "../../components/TextLink";
import { Time } from "../../components/Time";
import { useTopic } from "../../hooks/useLive";
import { formatBytes, formatSeconds, plural } from "../../lib/quantity";
import { Clones } from "./parts/Clones";
import { Sessions } from "./parts/Sessions";
import { SnapshotDiff } from "./parts/SnapshotDiff";
import { SnapshotFiles } from "./parts/SnapshotFiles";
import { Snapshots } from "./parts/Snapshots";
import { WorkspaceActions } from "./parts/WorkspaceActions";
import { WorkspaceSettings } from "./parts/WorkspaceSettings";
import { WORKSPACE_TAB_LABELS, WORKSPACE_TABS } from "./tabs";

const route = getRouteApi("/in/projects/$project/workspaces/$workspace");

export function WorkspaceDetails() {
  const place = route.useParams();
  const result = useQuery(workspaceQuery(place));
  useTopic("workspaces");
  if (isNotFound(result.error)) return <NotFound message={result.error?.message} />;
  return <Loaded result={result}>{(workspace) => <Parts workspace={workspace} />}</Loaded>;
}

function Parts({ workspace }: { workspace: Workspace }) {
  const { tab = "snapshots" } = route.useSearch();
  const navigate = route.useNavigate();
  return (
    <Stack gap={0}>
      <Header workspace={workspace} />
      <Sessions workspace={workspace} />
      <TabBar
        label={`Parts of ${workspace.name}`}
        tabs={WORKSPACE_TABS}
        names={WORKSPACE_TAB_LABELS}
        value={tab}
        onChange={(chosen) => void navigate({ search: { tab: chosen }, resetScroll: false })}
      >
        {tab === "snapshots" && <Snapshots workspace={workspace} />}
        {tab === "files" && <SnapshotFiles workspace={workspace} />}
        {tab === "diff" && <SnapshotDiff workspace={workspace} />}
        {tab === "clones" && <Clones workspace={workspace} />}
        {tab === "settings" && <WorkspaceSettings workspace={workspace} />}
      </TabBar>
    </Stack>
  );
}

function Header({ workspace }: { workspace: Workspace }) {
  const { project } = workspace;
  return (
    <PageHeader
      title={workspace.name}
      above={
        <Breadcrumbs mb={4} fz="sm">
          <TextLink to="/workspaces" size="sm">
            Workspaces
          </TextLink>
          <TextLink to="/workspaces" search={{ project }} size="sm">
            {project}
          </TextLink>
        </Breadcrumbs>
      }
      below={
        <Stack gap={8} mt={4}>
          <Text size="sm" c="dimmed" component="div">
            <Status state={workspace.state} /> {workspace.owner}
            {workspace.shared ? ", shared with the project" : ", private"} ·{" "}
            <Time at={workspace.created_at} prefix="created " />
          </Text>
          {workspace.problem && (
            <Alert color="orange" p="xs">
              {workspace.problem}
            </Alert>
          )}
          <Making workspace={workspace} />
          <Facts facts={factsOf(workspace)} />
        </Stack>
      }
      actions={<WorkspaceActions workspace={workspace} />}
    />
  );
}

function factsOf(workspace: Workspace) {
  const took = workspace.took_seconds;
  return [
    { name: "Its own", value: formatBytes(workspace.unique_bytes) },
    { name: "In common with others", value: formatBytes(workspace.shared_bytes) },
    { name: "Size", value: formatBytes(workspace.size_bytes) },
    { name: "Files", value: workspace.files.toLocaleString("en") },
    { name: "Snapshots", value: `${workspace.snapshots}, ${formatBytes(workspace.snapshot_bytes)}` },
    {
      name: "Made",
      value: `${howWords(workspace)}${took && took >= 0.05 ? ` in ${formatSeconds(took)}` : ""}`,
    },
    workspace.storage_class
      ? {
          name: "Claim",
          value: `${workspace.storage_class}, ${workspace.many_nodes ? "ReadWriteMany" : "ReadWriteOnce"} (${workspace.site})`,
        }
      : { name: "At", value: `${workspace.path} (${workspace.volume}, ${workspace.site})` },
  ];
}

/** In the words of the server: the first reason is the way itself. */
function howWords(workspace: Workspace): string {
  return workspace.reasons[0] ?? workspace.how;
}

function Making({ workspace }: { workspace: Workspace }) {
  if (workspace.state !== "creating" && workspace.state !== "restoring") return null;
  const expected = workspace.expected_seconds;
  return (
    <div>
      <Progress value={100} animated aria-label={`${workspace.name} is ${workspace.state}`} />
      <Text size="xs" c="dimmed">
        {plural(workspace.done_files, "file")}, {formatBytes(workspace.done_bytes)}
        {expected !== null && expected !== undefined && ` · about ${formatSeconds(expected)} in all`}
        {workspace.restoring && ` · from ${workspace.restoring}`}
      </Text>
    </div>
  );
}

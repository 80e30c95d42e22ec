/** Every address of the page. What a page shows is in its address, so that it can be sent to a colleague. */
import {
  createRootRoute,
  createRoute,
  createRouter,
  lazyRouteComponent,
  Outlet,
  redirect,
} from "@tanstack/react-router";
import type { AuditFilter } from "./api/audit";
import type { CacheFilter } from "./api/caches";
import { queries, signedOut } from "./api/client";
import type { DatasetFilter } from "./api/datasets";
import type { JobFilter } from "./api/jobs";
import type { ModelFilter } from "./api/models";
import { ApiError } from "./api/problem";
import { comparisonQuery, runKeysQuery } from "./api/runs";
import { sessionQuery } from "./api/session";
import type { SearchState } from "./api/shapes";
import { ErrorPage } from "./components/ErrorPage";
import { NotFound } from "./components/NotFound";
import { isNarrowed, type Narrowed } from "./components/Shell/narrowed";
import { Shell } from "./components/Shell/Shell";
import { usableProject } from "./hooks/useProject";
import { basePath } from "./lib/base";
import { count, flag, oneOf, ownPath, text } from "./lib/search";
import { USAGE_RANGES, type UsageRange } from "./pages/Cache/parts/ranges";
import { CACHE_TABS, type CacheTab, VOLUME_TABS, type VolumeTab } from "./pages/Cache/tabs";
import { idsOf, readCompareSearch } from "./pages/Compare/tabs";
import { ENDPOINT_TABS, type EndpointTab } from "./pages/Endpoint/tabs";
import { FLOW_RUN_TABS, FLOW_TABS, type FlowRunTab, type FlowTab } from "./pages/Flow/tabs";
import { JOB_KINDS, JOB_STATES } from "./pages/Job/parts/states";
import { readModelSearch, readVersionSearch } from "./pages/Model/tabs";
import { PROJECT_TABS, type ProjectTab } from "./pages/Project/tabs";
import { type RunListSearch, readRunSearch } from "./pages/Run/search";
import { RUN_TABS, type RunSearch } from "./pages/Run/tabs";
import { readSearchSearch, SEARCH_STATES } from "./pages/Search/tabs";
import { Login } from "./pages/Session/Login";
import { SHARES_RANGES, SHARES_TABS, type SharesSearch } from "./pages/Shares/tabs";
import { WORKSPACE_TABS, type WorkspaceSearch } from "./pages/Workspace/tabs";

/** Kinds of datasets beside those that people make. */
const JOB_DATA_KINDS = ["output", "code", "artifact"] as const;

type Raw = Record<string, unknown>;

const DATASET_TABS = ["commits", "commit", "files", "diff", "lineage", "refs", "settings"] as const;

interface DatasetSearch extends PageSearch {
  tab?: (typeof DATASET_TABS)[number];
  ref?: string;
  path?: string;
  file?: string;
  before?: string;
  after?: string;
  /** Of a long directory, only names from this one on. */
  from?: string;
}

/** Which page of a long list. */
export interface PageSearch {
  page?: number;
}

interface CommandLineSearch {
  port?: number;
  challenge?: string;
  state?: string;
  machine?: string;
}

interface LibrarySearch {
  project?: string;
  search?: string;
  category?: string;
}

interface VolumeSearch extends PageSearch {
  tab?: VolumeTab;
  range?: UsageRange;
}

const runSearch = (raw: Raw): RunSearch => ({
  tab: oneOf(raw, "tab", RUN_TABS),
  path: text(raw, "path"),
  file: text(raw, "file"),
});

/** A list whose address names no project shows the chosen one. */
function narrowTo(to: Narrowed) {
  return async ({ search }: { search: { project?: string } }) => {
    if (search.project) return;
    const project = await usableProject();
    if (project) throw redirect({ to, search: { ...search, project }, replace: true });
  };
}

const root = createRootRoute({ component: Outlet, notFoundComponent: () => <NotFound /> });

const login = createRoute({
  getParentRoute: () => root,
  path: "/login",
  validateSearch: (raw: Raw): { next?: string; problem?: string } => ({
    next: ownPath(raw, "next"),
    problem: text(raw, "problem"),
  }),
  component: Login,
});

const signedIn = createRoute({
  getParentRoute: () => root,
  id: "in",
  beforeLoad: async ({ location }) => {
    try {
      await queries.ensureQueryData(sessionQuery);
    } catch (error) {
      if (error instanceof ApiError && error.status === 401) {
        throw redirect({ to: "/login", search: { next: location.publicHref } });
      }
      throw error;
    }
  },
  component: Shell,
});

const home = createRoute({
  getParentRoute: () => signedIn,
  path: "/",
  component: lazyRouteComponent(() => import("./pages/Home/Home"), "Home"),
});

const datasets = createRoute({
  getParentRoute: () => signedIn,
  path: "/datasets",
  validateSearch: (raw: Raw): DatasetFilter => ({
    search: text(raw, "search"),
    project: text(raw, "project"),
    deleted: flag(raw, "deleted"),
    kind: oneOf(raw, "kind", JOB_DATA_KINDS),
  }),
  beforeLoad: narrowTo("/datasets"),
  component: lazyRouteComponent(() => import("./pages/Dataset/List"), "DatasetList"),
});

const dataset = createRoute({
  getParentRoute: () => signedIn,
  path: "/projects/$project/datasets/$dataset",
  validateSearch: (raw: Raw): DatasetSearch => ({
    tab: oneOf(raw, "tab", DATASET_TABS),
    ref: text(raw, "ref"),
    path: text(raw, "path"),
    file: text(raw, "file"),
    before: text(raw, "before"),
    after: text(raw, "after"),
    from: text(raw, "from"),
    page: count(raw, "page"),
  }),
  component: lazyRouteComponent(() => import("./pages/Dataset/Details"), "DatasetDetails"),
});

const caches = createRoute({
  getParentRoute: () => signedIn,
  path: "/caches",
  validateSearch: (raw: Raw): CacheFilter & PageSearch & { tab?: CacheTab } => ({
    tab: oneOf(raw, "tab", CACHE_TABS),
    page: count(raw, "page"),
    volume: text(raw, "volume"),
    project: text(raw, "project"),
    dataset: text(raw, "dataset"),
  }),
  beforeLoad: narrowTo("/caches"),
  component: lazyRouteComponent(() => import("./pages/Cache/List"), "CacheList"),
});

const volume = createRoute({
  getParentRoute: () => signedIn,
  path: "/caches/$volume",
  validateSearch: (raw: Raw): VolumeSearch => ({
    tab: oneOf(raw, "tab", VOLUME_TABS),
    range: oneOf(raw, "range", USAGE_RANGES),
    page: count(raw, "page"),
  }),
  component: lazyRouteComponent(() => import("./pages/Cache/VolumeDetails"), "VolumeDetails"),
});

const topology = createRoute({
  getParentRoute: () => signedIn,
  path: "/topology",
  component: lazyRouteComponent(() => import("./pages/Topology/Topology"), "TopologyPage"),
});

const sources = createRoute({
  getParentRoute: () => signedIn,
  path: "/sources",
  validateSearch: (raw: Raw): { project?: string; tab?: "sources" | "connections" } => ({
    project: text(raw, "project"),
    tab: oneOf(raw, "tab", ["sources", "connections"] as const),
  }),
  beforeLoad: narrowTo("/sources"),
  component: lazyRouteComponent(() => import("./pages/Source/List"), "SourceList"),
});

const jobs = createRoute({
  getParentRoute: () => signedIn,
  path: "/jobs",
  validateSearch: (raw: Raw): JobFilter & PageSearch => ({
    page: count(raw, "page"),
    state: oneOf(raw, "state", JOB_STATES),
    kind: oneOf(raw, "kind", JOB_KINDS),
    project: text(raw, "project"),
    user: text(raw, "user"),
    compute: text(raw, "compute"),
    text: text(raw, "text"),
    deleted: flag(raw, "deleted"),
    mine: flag(raw, "mine"),
  }),
  beforeLoad: narrowTo("/jobs"),
  component: lazyRouteComponent(() => import("./pages/Job/List"), "JobList"),
});

const job = createRoute({
  getParentRoute: () => signedIn,
  path: "/projects/$project/jobs/$job",
  validateSearch: runSearch,
  component: lazyRouteComponent(() => import("./pages/Job/Details"), "JobDetails"),
});

const runs = createRoute({
  getParentRoute: () => signedIn,
  path: "/runs",
  validateSearch: (raw: Raw): RunListSearch & PageSearch => ({
    ...readRunSearch(raw),
    page: count(raw, "page"),
  }),
  beforeLoad: narrowTo("/runs"),
  loaderDeps: ({ search: { project, experiment, deleted } }) => ({ project, experiment, deleted }),
  loader: ({ deps }) => void queries.prefetchQuery(runKeysQuery(deps)),
  component: lazyRouteComponent(() => import("./pages/Run/List"), "RunList"),
});

const run = createRoute({
  getParentRoute: () => signedIn,
  path: "/projects/$project/runs/$run",
  validateSearch: runSearch,
  component: lazyRouteComponent(() => import("./pages/Run/Details"), "RunDetails"),
});

const compare = createRoute({
  getParentRoute: () => signedIn,
  path: "/projects/$project/runs/compare",
  validateSearch: readCompareSearch,
  loaderDeps: ({ search }) => ({ runs: search.runs }),
  // Asked for while the code of the page is still on its way.
  loader: ({ params, deps }) => {
    const ids = idsOf(deps.runs);
    if (ids.length > 0) void queries.prefetchQuery(comparisonQuery(params.project, ids));
  },
  component: lazyRouteComponent(() => import("./pages/Compare/Compare"), "Compare"),
});

const flows = createRoute({
  getParentRoute: () => signedIn,
  path: "/flows",
  validateSearch: (raw: Raw): { project?: string } => ({ project: text(raw, "project") }),
  beforeLoad: narrowTo("/flows"),
  component: lazyRouteComponent(() => import("./pages/Flow/List"), "FlowList"),
});

const newFlow = createRoute({
  getParentRoute: () => signedIn,
  path: "/projects/$project/flows-new",
  validateSearch: (raw: Raw): { component?: string } => ({ component: text(raw, "component") }),
  component: lazyRouteComponent(() => import("./pages/Flow/New"), "FlowNew"),
});

const flow = createRoute({
  getParentRoute: () => signedIn,
  path: "/projects/$project/flows/$flow",
  validateSearch: (raw: Raw): { tab?: FlowTab; version?: number } => ({
    tab: oneOf(raw, "tab", FLOW_TABS),
    version: count(raw, "version"),
  }),
  component: lazyRouteComponent(() => import("./pages/Flow/Details"), "FlowDetails"),
});

const flowComparison = createRoute({
  getParentRoute: () => signedIn,
  path: "/projects/$project/flows/$flow/compare",
  validateSearch: (raw: Raw): { a?: string; b?: string; all?: boolean } => ({
    a: text(raw, "a"),
    b: text(raw, "b"),
    all: flag(raw, "all"),
  }),
  component: lazyRouteComponent(() => import("./pages/Flow/CompareRuns"), "CompareFlowRuns"),
});

const flowRun = createRoute({
  getParentRoute: () => signedIn,
  path: "/projects/$project/flow-runs/$run",
  validateSearch: (raw: Raw): { tab?: FlowRunTab; step?: string } => ({
    tab: oneOf(raw, "tab", FLOW_RUN_TABS),
    step: text(raw, "step"),
  }),
  component: lazyRouteComponent(() => import("./pages/Flow/RunDetails"), "FlowRunDetails"),
});

const models = createRoute({
  getParentRoute: () => signedIn,
  path: "/models",
  validateSearch: (raw: Raw): ModelFilter => ({
    search: text(raw, "search"),
    project: text(raw, "project"),
    deleted: flag(raw, "deleted"),
  }),
  beforeLoad: narrowTo("/models"),
  component: lazyRouteComponent(() => import("./pages/Model/List"), "ModelList"),
});

const model = createRoute({
  getParentRoute: () => signedIn,
  path: "/projects/$project/models/$model",
  validateSearch: readModelSearch,
  component: lazyRouteComponent(() => import("./pages/Model/Details"), "ModelDetails"),
});

const modelVersion = createRoute({
  getParentRoute: () => signedIn,
  path: "/projects/$project/models/$model/versions/$version",
  validateSearch: readVersionSearch,
  component: lazyRouteComponent(() => import("./pages/Model/VersionDetails"), "ModelVersionDetails"),
});

const endpoints = createRoute({
  getParentRoute: () => signedIn,
  path: "/endpoints",
  validateSearch: (raw: Raw): { project?: string } => ({ project: text(raw, "project") }),
  beforeLoad: narrowTo("/endpoints"),
  component: lazyRouteComponent(() => import("./pages/Endpoint/List"), "EndpointList"),
});

const endpoint = createRoute({
  getParentRoute: () => signedIn,
  path: "/projects/$project/endpoints/$endpoint",
  validateSearch: (raw: Raw): { tab?: EndpointTab } => ({ tab: oneOf(raw, "tab", ENDPOINT_TABS) }),
  component: lazyRouteComponent(() => import("./pages/Endpoint/Details"), "EndpointDetails"),
});

const clusters = createRoute({
  getParentRoute: () => signedIn,
  path: "/clusters",
  validateSearch: (raw: Raw): { project?: string } => ({ project: text(raw, "project") }),
  beforeLoad: narrowTo("/clusters"),
  component: lazyRouteComponent(() => import("./pages/Cluster/List"), "ClusterList"),
});

const cluster = createRoute({
  getParentRoute: () => signedIn,
  path: "/projects/$project/clusters/$cluster",
  component: lazyRouteComponent(() => import("./pages/Cluster/Details"), "ClusterDetails"),
});

const workspaces = createRoute({
  getParentRoute: () => signedIn,
  path: "/workspaces",
  validateSearch: (raw: Raw): { project?: string; deleted?: boolean } => ({
    project: text(raw, "project"),
    deleted: flag(raw, "deleted"),
  }),
  beforeLoad: narrowTo("/workspaces"),
  component: lazyRouteComponent(() => import("./pages/Workspace/List"), "WorkspaceList"),
});

const workspace = createRoute({
  getParentRoute: () => signedIn,
  path: "/projects/$project/workspaces/$workspace",
  validateSearch: (raw: Raw): WorkspaceSearch => ({
    tab: oneOf(raw, "tab", WORKSPACE_TABS),
    snapshot: text(raw, "snapshot"),
    path: text(raw, "path"),
    before: text(raw, "before"),
    after: text(raw, "after"),
  }),
  component: lazyRouteComponent(() => import("./pages/Workspace/Details"), "WorkspaceDetails"),
});

const workspaceSession = createRoute({
  getParentRoute: () => signedIn,
  path: "/projects/$project/workspaces/$workspace/sessions/$job",
  component: lazyRouteComponent(() => import("./pages/Workspace/Session"), "WorkspaceSessionPage"),
});

const searches = createRoute({
  getParentRoute: () => signedIn,
  path: "/searches",
  validateSearch: (raw: Raw): { project?: string; state?: SearchState; page?: number } => ({
    project: text(raw, "project"),
    state: oneOf(raw, "state", SEARCH_STATES),
    page: count(raw, "page"),
  }),
  beforeLoad: narrowTo("/searches"),
  component: lazyRouteComponent(() => import("./pages/Search/List"), "SearchList"),
});

const search = createRoute({
  getParentRoute: () => signedIn,
  path: "/projects/$project/searches/$search",
  validateSearch: readSearchSearch,
  component: lazyRouteComponent(() => import("./pages/Search/Details"), "SearchDetails"),
});

const library = createRoute({
  getParentRoute: () => signedIn,
  path: "/library",
  validateSearch: (raw: Raw): LibrarySearch => ({
    project: text(raw, "project"),
    search: text(raw, "search"),
    category: text(raw, "category"),
  }),
  beforeLoad: narrowTo("/library"),
  component: lazyRouteComponent(() => import("./pages/Library/List"), "LibraryList"),
});

const component = createRoute({
  getParentRoute: () => signedIn,
  path: "/projects/$project/library/$component",
  component: lazyRouteComponent(() => import("./pages/Library/Details"), "ComponentDetails"),
});

const computes = createRoute({
  getParentRoute: () => signedIn,
  path: "/compute",
  component: lazyRouteComponent(() => import("./pages/Compute/List"), "ComputeList"),
});

const compute = createRoute({
  getParentRoute: () => signedIn,
  path: "/compute/$compute",
  component: lazyRouteComponent(() => import("./pages/Compute/Details"), "ComputeDetails"),
});

const shares = createRoute({
  getParentRoute: () => signedIn,
  path: "/shares",
  validateSearch: (raw: Raw): SharesSearch => ({
    tab: oneOf(raw, "tab", SHARES_TABS),
    range: oneOf(raw, "range", SHARES_RANGES),
    page: count(raw, "page"),
    project: text(raw, "project"),
  }),
  beforeLoad: narrowTo("/shares"),
  component: lazyRouteComponent(() => import("./pages/Shares/Shares"), "SharesPage"),
});

const templates = createRoute({
  getParentRoute: () => signedIn,
  path: "/templates",
  component: lazyRouteComponent(() => import("./pages/Template/List"), "TemplateList"),
});

const queues = createRoute({
  getParentRoute: () => signedIn,
  path: "/queues",
  component: lazyRouteComponent(() => import("./pages/Queue/List"), "QueueList"),
});

const tokens = createRoute({
  getParentRoute: () => signedIn,
  path: "/tokens",
  component: lazyRouteComponent(() => import("./pages/Token/List"), "TokenList"),
});

const projects = createRoute({
  getParentRoute: () => signedIn,
  path: "/projects",
  component: lazyRouteComponent(() => import("./pages/Project/List"), "ProjectList"),
});

const project = createRoute({
  getParentRoute: () => signedIn,
  path: "/projects/$project",
  validateSearch: (raw: Raw): { tab?: ProjectTab } => ({ tab: oneOf(raw, "tab", PROJECT_TABS) }),
  component: lazyRouteComponent(() => import("./pages/Project/Details"), "ProjectDetails"),
});

/** What is left of `/projects/vision/runs/…` without its end: the list, narrowed to the project. */
const listOfProject = createRoute({
  getParentRoute: () => signedIn,
  path: "/projects/$project/$list",
  beforeLoad: ({ params }) => {
    const to = `/${params.list}`;
    if (isNarrowed(to)) throw redirect({ to, search: { project: params.project }, replace: true });
  },
  component: () => <NotFound />,
});

const users = createRoute({
  getParentRoute: () => signedIn,
  path: "/users",
  component: lazyRouteComponent(() => import("./pages/User/List"), "UserList"),
});

const signIn = createRoute({
  getParentRoute: () => signedIn,
  path: "/sign-in",
  component: lazyRouteComponent(() => import("./pages/SignIn/SignIn"), "SignInPage"),
});

const account = createRoute({
  getParentRoute: () => signedIn,
  path: "/account",
  component: lazyRouteComponent(() => import("./pages/Account/Account"), "Account"),
});

const notifications = createRoute({
  getParentRoute: () => signedIn,
  path: "/notifications",
  validateSearch: (raw: Raw): PageSearch & { unread?: boolean } => ({
    page: count(raw, "page"),
    unread: flag(raw, "unread"),
  }),
  component: lazyRouteComponent(() => import("./pages/Notification/List"), "NotificationList"),
});

const mail = createRoute({
  getParentRoute: () => signedIn,
  path: "/mail",
  component: lazyRouteComponent(() => import("./pages/Mail/Mail"), "MailPage"),
});

const device = createRoute({
  getParentRoute: () => signedIn,
  path: "/device",
  validateSearch: (raw: Raw): { code?: string } => ({ code: text(raw, "code") }),
  component: lazyRouteComponent(() => import("./pages/Session/Device"), "Device"),
});

const commandLine = createRoute({
  getParentRoute: () => signedIn,
  path: "/command-line",
  validateSearch: (raw: Raw): CommandLineSearch => ({
    port: count(raw, "port"),
    challenge: text(raw, "challenge"),
    state: text(raw, "state"),
    machine: text(raw, "machine"),
  }),
  component: lazyRouteComponent(() => import("./pages/Session/CommandLine"), "AllowCommandLine"),
});

const backups = createRoute({
  getParentRoute: () => signedIn,
  path: "/backups",
  component: lazyRouteComponent(() => import("./pages/Backup/List"), "BackupList"),
});

const server = createRoute({
  getParentRoute: () => signedIn,
  path: "/server",
  component: lazyRouteComponent(() => import("./pages/Server/Diagnosis"), "ServerDiagnosis"),
});

const audit = createRoute({
  getParentRoute: () => signedIn,
  path: "/audit",
  validateSearch: (raw: Raw): AuditFilter & PageSearch => ({
    page: count(raw, "page"),
    q: text(raw, "q"),
    who: text(raw, "who"),
    action: text(raw, "action"),
    subject: text(raw, "subject"),
    project: text(raw, "project"),
    address: text(raw, "address"),
    since: text(raw, "since"),
    until: text(raw, "until"),
  }),
  component: lazyRouteComponent(() => import("./pages/Audit/List"), "AuditList"),
});

/** Any other address, within the frame: whoever mistyped one still has the navigation. */
const nowhere = createRoute({
  getParentRoute: () => signedIn,
  path: "$",
  component: () => <NotFound />,
});

const pages = [
  home,
  datasets,
  dataset,
  caches,
  volume,
  topology,
  sources,
  jobs,
  job,
  runs,
  run,
  compare,
  flows,
  newFlow,
  flow,
  flowComparison,
  flowRun,
  models,
  model,
  modelVersion,
  endpoints,
  endpoint,
  clusters,
  cluster,
  workspaces,
  workspace,
  workspaceSession,
  searches,
  search,
  library,
  component,
  computes,
  compute,
  shares,
  templates,
  queues,
  tokens,
  projects,
  project,
  listOfProject,
  users,
  signIn,
  account,
  notifications,
  mail,
  device,
  commandLine,
  audit,
  server,
  backups,
  nowhere,
];

export const router = createRouter({
  routeTree: root.addChildren([login, signedIn.addChildren(pages)]),
  basepath: basePath(),
  defaultErrorComponent: ErrorPage,
  defaultNotFoundComponent: () => <NotFound />,
  defaultPreload: "intent",
  scrollRestoration: true,
});

/** Brings the code of every page while nothing else is done: who is offline for a moment can still look around. */
export function bringAllPages(): void {
  const begin = window.requestIdleCallback ?? ((run: () => void) => window.setTimeout(run, 2_000));
  begin(() => {
    // One that did not come is asked for again when it is opened.
    for (const page of pages) router.loadRouteChunk(page)?.catch(() => {});
  });
}

signedOut.handle = () => {
  const { pathname, publicHref } = router.state.location;
  if (pathname === "/login") return;
  queries.clear();
  void router.navigate({ to: "/login", search: { next: publicHref } });
};

declare module "@tanstack/react-router" {
  interface Register {
    router: typeof router;
  }
}

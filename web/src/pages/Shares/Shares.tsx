import { Stack } from "@mantine/core";
import { getRouteApi } from "@tanstack/react-router";
import { PageHeader } from "../../components/PageHeader";
import { ProjectSelect } from "../../components/ProjectSelect";
import { TabBar } from "../../components/TabBar";
import { NodeTable } from "./parts/NodeTable";
import { Numbers } from "./parts/Numbers";
import { PendingJobs } from "./parts/PendingJobs";
import { ProjectShares } from "./parts/ProjectShares";
import { RunningJobs } from "./parts/RunningJobs";
import { SHARES_TABS, type SharesTab, TAB_LABELS } from "./tabs";

const route = getRouteApi("/in/shares");

/** Who has which GPUs, who waits for some and why, and what the nodes do. */
export function SharesPage() {
  const { tab = "projects", range, project, page } = route.useSearch();
  const navigate = route.useNavigate();
  const show = (chosen: SharesTab) =>
    navigate({
      search: { project, range, tab: chosen === "projects" ? undefined : chosen },
      resetScroll: false,
    });
  const turn = (number: number | undefined) =>
    navigate({ search: (before) => ({ ...before, page: number }), resetScroll: false });
  return (
    <>
      <PageHeader
        title="Queue & shares"
        actions={
          <ProjectSelect
            value={project}
            onChange={() =>
              navigate({ search: (before) => ({ ...before, project: undefined, page: undefined }) })
            }
          />
        }
      />
      <Stack gap="lg">
        <Numbers />
        <TabBar label="Queue & shares" tabs={SHARES_TABS} names={TAB_LABELS} value={tab} onChange={show}>
          {tab === "projects" && (
            <ProjectShares
              project={project}
              range={range ?? "hour"}
              onRange={(chosen) =>
                navigate({ search: (before) => ({ ...before, range: chosen }), resetScroll: false })
              }
            />
          )}
          {tab === "running" && <RunningJobs project={project} page={page} onTurn={turn} />}
          {tab === "pending" && <PendingJobs project={project} />}
          {tab === "nodes" && <NodeTable />}
        </TabBar>
      </Stack>
    </>
  );
}

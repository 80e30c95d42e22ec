import { Badge, type MantineColor } from "@mantine/core";
import {
  type Icon,
  IconAlertTriangle,
  IconBarrierBlock,
  IconCircleCheck,
  IconCircleDashed,
  IconCircleX,
  IconClock,
  IconDownload,
  IconHelpCircle,
  IconHistory,
  IconKeyOff,
  IconLoader,
  IconPlayerPause,
  IconPlayerPlay,
  IconPlayerStop,
  IconPlugConnected,
  IconPlugConnectedX,
  IconScissors,
  IconTrash,
} from "@tabler/icons-react";
import type {
  CachedState,
  Cluster,
  ClusterJob,
  Compute,
  ElasticNode,
  Endpoint,
  EndpointReplica,
  EndpointSiteState,
  JobState,
  RunState,
  SearchState,
  Source,
  TrialState,
  Workspace,
  WorkspaceSnapshot,
} from "../api/shapes";

type State =
  | JobState
  | RunState
  | CachedState
  | SearchState
  | TrialState
  | Source["state"]
  | Compute["health"]
  | ElasticNode["state"]
  | Endpoint["state"]
  | EndpointReplica["state"]
  | Cluster["state"]
  | ClusterJob["state"]
  | EndpointSiteState["swap"]
  | Workspace["state"]
  | WorkspaceSnapshot["state"]
  | "passed"
  | "skipped"
  | "remembered"
  | "connected"
  | "away"
  | "held up";

/** Always an icon and a word: colour alone says nothing to many people. */
const LOOKS: Record<State, readonly [Icon, MantineColor]> = {
  queued: [IconClock, "gray"],
  placed: [IconCircleDashed, "indigo"],
  preparing: [IconLoader, "indigo"],
  running: [IconPlayerPlay, "blue"],
  preempted: [IconPlayerPause, "orange"],
  suspended: [IconPlayerPause, "gray"],
  succeeded: [IconCircleCheck, "green"],
  completed: [IconCircleCheck, "green"],
  passed: [IconCircleCheck, "green"],
  pruned: [IconScissors, "orange"],
  failed: [IconCircleX, "red"],
  cancelled: [IconPlayerStop, "gray"],
  skipped: [IconCircleDashed, "gray"],
  remembered: [IconHistory, "green"],
  lost: [IconHelpCircle, "orange"],
  filling: [IconDownload, "blue"],
  "held up": [IconAlertTriangle, "orange"],
  ready: [IconCircleCheck, "green"],
  evicting: [IconTrash, "gray"],
  creating: [IconLoader, "indigo"],
  starting: [IconLoader, "indigo"],
  deleting: [IconTrash, "gray"],
  updating: [IconLoader, "blue"],
  scaling: [IconLoader, "blue"],
  retiring: [IconBarrierBlock, "gray"],
  degraded: [IconAlertTriangle, "orange"],
  idle: [IconPlayerPause, "gray"],
  ended: [IconCircleDashed, "gray"],
  gone: [IconCircleDashed, "gray"],
  waiting: [IconClock, "gray"],
  failing: [IconCircleX, "red"],
  current: [IconCircleCheck, "green"],
  fetching: [IconDownload, "blue"],
  loading: [IconLoader, "blue"],
  paused: [IconPlayerPause, "gray"],
  connected: [IconPlugConnected, "green"],
  away: [IconPlugConnectedX, "red"],
  ok: [IconPlugConnected, "green"],
  new: [IconCircleDashed, "indigo"],
  cordoned: [IconBarrierBlock, "orange"],
  draining: [IconBarrierBlock, "orange"],
  revoked: [IconKeyOff, "red"],
  restoring: [IconHistory, "blue"],
  removing: [IconTrash, "gray"],
  taking: [IconLoader, "blue"],
  near: [IconCircleDashed, "indigo"],
  kept: [IconCircleCheck, "green"],
};

export function Status({ state, size = "md" }: { state: State; size?: "sm" | "md" | "lg" }) {
  const [Picture, color] = LOOKS[state] ?? [IconHelpCircle, "gray"];
  return (
    <Badge
      color={color}
      variant="light"
      size={size}
      tt="none"
      leftSection={<Picture size={14} aria-hidden />}
      className="status"
    >
      {state}
    </Badge>
  );
}

import { ActionIcon, Badge, Group, Menu, Stack, Text, Timeline, Tooltip } from "@mantine/core";
import { IconCamera, IconDots } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { useState } from "react";
import { useMay } from "../../../api/session";
import type { Workspace, WorkspaceSnapshot } from "../../../api/shapes";
import { snapshotsQuery, useDeleteSnapshot, useRestoreSnapshot } from "../../../api/workspaces";
import { EmptyState } from "../../../components/EmptyState";
import { Loaded } from "../../../components/Loaded";
import { notifyDone, notifyError } from "../../../components/notify";
import { Status } from "../../../components/Status";
import { TextLink } from "../../../components/TextLink";
import { Time } from "../../../components/Time";
import { shellQuote } from "../../../lib/names";
import { formatBytes, plural } from "../../../lib/quantity";
import { NewWorkspace } from "./NewWorkspace";

const route = getRouteApi("/in/projects/$project/workspaces/$workspace");

/** The newest first, as a timeline: what each holds, whether it is near, kept or both, and what it belongs to. */
export function Snapshots({ workspace }: { workspace: Workspace }) {
  const place = { project: workspace.project, workspace: workspace.name };
  const result = useQuery(snapshotsQuery(place));
  return (
    <Loaded result={result}>
      {({ items }) =>
        items.length === 0 ? (
          <EmptyState
            icon={IconCamera}
            sentence="No snapshots yet. A snapshot freezes the files at once and keeps them in the lake."
            command={`mill workspace snapshot ${shellQuote(workspace.name)}`}
          />
        ) : (
          <Timeline bulletSize={22} lineWidth={2} active={items.length} mt="sm">
            {items.map((snapshot) => (
              <Timeline.Item
                key={snapshot.number}
                bullet={<IconCamera size={12} aria-hidden />}
                title={<Title workspace={workspace} snapshot={snapshot} />}
              >
                <Words workspace={workspace} snapshot={snapshot} />
              </Timeline.Item>
            ))}
          </Timeline>
        )
      }
    </Loaded>
  );
}

interface Props {
  workspace: Workspace;
  snapshot: WorkspaceSnapshot;
}

function Title({ workspace, snapshot }: Props) {
  return (
    <Group gap="xs" wrap="wrap">
      <Text fw={600}>{snapshot.name}</Text>
      <Status state={snapshot.state} size="sm" />
      {snapshot.near && snapshot.state === "kept" && (
        <Badge variant="outline" size="sm" tt="none">
          near
        </Badge>
      )}
      <SnapshotMenu {...{ workspace, snapshot }} />
    </Group>
  );
}

function Words({ workspace, snapshot }: Props) {
  const { consistency } = snapshot;
  return (
    <Stack gap={2}>
      <Text size="sm" c="dimmed" component="div">
        <Time at={snapshot.taken_at ?? snapshot.created_at} /> · {plural(snapshot.files, "file")},{" "}
        {formatBytes(snapshot.bytes)}, {formatBytes(snapshot.unique_bytes)} of its own · {snapshot.created_by}
        {consistency === "per-file" && " · copied file by file while a job went on"}
        {consistency === "frozen" && " · the job was paused"}
        {snapshot.keep && ` · keeps ${snapshot.keep}`}
      </Text>
      {snapshot.run && (
        <TextLink
          to="/projects/$project/runs/$run"
          params={{ project: workspace.project, run: snapshot.run }}
          size="sm"
        >
          Run {snapshot.run}
        </TextLink>
      )}
      {snapshot.problem && (
        <Text size="sm" c="orange.9">
          {snapshot.problem}
        </Text>
      )}
    </Stack>
  );
}

function SnapshotMenu({ workspace, snapshot }: Props) {
  const place = { project: workspace.project, workspace: workspace.name };
  const may = useMay(workspace.project, "member") && workspace.usable;
  const restore = useRestoreSnapshot(place);
  const remove = useDeleteSnapshot(place);
  const [cloning, setCloning] = useState(false);
  const isThere = snapshot.near || snapshot.commit !== null;
  const navigate = route.useNavigate();
  return (
    <>
      <Menu position="bottom-start" withinPortal>
        <Menu.Target>
          <Tooltip label="What to do with it">
            <ActionIcon variant="subtle" size="sm" aria-label={`Actions for ${snapshot.name}`}>
              <IconDots size={14} aria-hidden />
            </ActionIcon>
          </Tooltip>
        </Menu.Target>
        <Menu.Dropdown>
          <Menu.Item
            disabled={!snapshot.commit}
            onClick={() => void navigate({ search: { tab: "files", snapshot: snapshot.name } })}
          >
            Browse files
          </Menu.Item>
          <Menu.Item
            disabled={!snapshot.commit}
            onClick={() => void navigate({ search: { tab: "diff", before: snapshot.name } })}
          >
            Compare
          </Menu.Item>
          <Menu.Item
            disabled={!may || !isThere}
            onClick={() =>
              restore.mutate(
                { snapshot: snapshot.name },
                {
                  onSuccess: () =>
                    notifyDone(`Restoring ${snapshot.name}. What is there now is kept as a snapshot.`),
                  onError: notifyError,
                },
              )
            }
          >
            Restore in place
          </Menu.Item>
          <Menu.Item disabled={!may || !isThere} onClick={() => setCloning(true)}>
            Clone
          </Menu.Item>
          <Menu.Item
            color="red"
            disabled={!may || snapshot.run !== null}
            onClick={() =>
              remove.mutate(snapshot.name, {
                onSuccess: () => notifyDone(`Snapshot ${snapshot.name} deleted.`),
                onError: notifyError,
              })
            }
          >
            {snapshot.run ? "Linked to a run: stays" : "Delete"}
          </Menu.Item>
        </Menu.Dropdown>
      </Menu>
      {cloning && (
        <NewWorkspace
          project={workspace.project}
          clone={`${workspace.name}@${snapshot.name}`}
          onClose={() => setCloning(false)}
        />
      )}
    </>
  );
}

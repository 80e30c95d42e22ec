import { ActionIcon, Button, Group, Menu, Tooltip } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { IconDots, IconExternalLink, IconTrash } from "@tabler/icons-react";
import { useNavigate } from "@tanstack/react-router";
import { useDeleteCluster } from "../../../api/clusters";
import { useOpenPort } from "../../../api/ports";
import { useMay } from "../../../api/session";
import type { Cluster } from "../../../api/shapes";
import { ConfirmByName } from "../../../components/ConfirmByName";
import { notifyDone, notifyError } from "../../../components/notify";
import { openInTab } from "../../../lib/openInTab";

/** Open its dashboard, delete it: for those who may. */
export function ClusterActions({ cluster }: { cluster: Cluster }) {
  const may = useMay(cluster.project, "member");
  const [opened, dialog] = useDisclosure(false);
  if (!may) return null;
  return (
    <Group gap="xs">
      <Dashboard cluster={cluster} />
      <Menu position="bottom-end" withinPortal>
        <Menu.Target>
          <Tooltip label="More actions">
            <ActionIcon variant="default" size={36} aria-label="More actions">
              <IconDots size={18} aria-hidden />
            </ActionIcon>
          </Tooltip>
        </Menu.Target>
        <Menu.Dropdown>
          <Menu.Item color="red" leftSection={<IconTrash size={16} aria-hidden />} onClick={dialog.open}>
            Delete
          </Menu.Item>
        </Menu.Dropdown>
      </Menu>
      {opened && <Removal cluster={cluster} onClose={dialog.close} />}
    </Group>
  );
}

function Dashboard({ cluster: { project, scheduler, dashboard } }: { cluster: Cluster }) {
  const open = useOpenPort();
  if (!scheduler || !dashboard) return null;
  const where = { project, job: scheduler.job, port: dashboard, rank: 0 };
  return (
    <Button
      variant="default"
      leftSection={<IconExternalLink size={16} aria-hidden />}
      loading={open.isPending}
      onClick={() => openInTab(open, where, { onError: notifyError })}
    >
      Open dashboard
    </Button>
  );
}

function Removal({ cluster, onClose }: { cluster: Cluster; onClose: () => void }) {
  const remove = useDeleteCluster({ project: cluster.project, cluster: cluster.name });
  const navigate = useNavigate();
  return (
    <ConfirmByName
      opened
      onClose={onClose}
      title={`Delete ${cluster.name}`}
      name={cluster.name}
      explanation="Its workers are retired and its scheduler stops: programs that use it fail. Their jobs stay in the list of jobs."
      action="Delete the cluster"
      busy={remove.isPending}
      error={remove.error}
      onConfirm={() =>
        remove.mutate(undefined, {
          onSuccess: () => {
            notifyDone(`Cluster ${cluster.name} is being deleted.`);
            void navigate({ to: "/clusters", search: { project: cluster.project } });
          },
        })
      }
    />
  );
}

import { ActionIcon, Menu, Tooltip } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { IconDots, IconTrash } from "@tabler/icons-react";
import { useNavigate } from "@tanstack/react-router";
import { useDeleteEndpoint } from "../../../api/endpoints";
import { useMay } from "../../../api/session";
import type { Endpoint } from "../../../api/shapes";
import { ConfirmByName } from "../../../components/ConfirmByName";
import { notifyDone } from "../../../components/notify";

/** Delete it, for those who may. */
export function EndpointActions({ endpoint }: { endpoint: Endpoint }) {
  const may = useMay(endpoint.project, "member");
  const [opened, dialog] = useDisclosure(false);
  if (!may) return null;
  return (
    <>
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
      {opened && <Removal endpoint={endpoint} onClose={dialog.close} />}
    </>
  );
}

function Removal({ endpoint, onClose }: { endpoint: Endpoint; onClose: () => void }) {
  const remove = useDeleteEndpoint({ project: endpoint.project, endpoint: endpoint.name });
  const navigate = useNavigate();
  return (
    <ConfirmByName
      opened
      onClose={onClose}
      title={`Delete ${endpoint.name}`}
      name={endpoint.name}
      explanation="It stops answering and its replicas stop. The jobs of its replicas, and the model, stay."
      action="Delete the endpoint"
      busy={remove.isPending}
      error={remove.error}
      onConfirm={() =>
        remove.mutate(undefined, {
          onSuccess: () => {
            notifyDone(`Endpoint ${endpoint.name} deleted.`);
            void navigate({ to: "/endpoints", search: { project: endpoint.project } });
          },
        })
      }
    />
  );
}

import { ActionIcon, Menu } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { IconDots } from "@tabler/icons-react";
import { useSession } from "../../api/session";
import type { User } from "../../api/shapes";
import { useChangeUser, useDeleteUser } from "../../api/users";
import { ConfirmByName } from "../../components/ConfirmByName";
import { notifyError } from "../../components/notify";

/** What a site administrator may do to others; to oneself nothing that would lock oneself out. */
export function UserActions({ user }: { user: User }) {
  const change = useChangeUser();
  const remove = useDeleteUser();
  const [opened, dialog] = useDisclosure(false);
  const [asking, disabling] = useDisclosure(false);
  if (useSession()?.user.id === user.id) return <>you</>;
  const put = (part: { is_admin?: boolean; disabled?: boolean }) =>
    change.mutate({ user: user.name, ...part }, { onError: notifyError });
  return (
    <>
      <Menu position="bottom-end">
        <Menu.Target>
          <ActionIcon variant="default" aria-label={`Change ${user.name}`} loading={change.isPending}>
            <IconDots size={16} />
          </ActionIcon>
        </Menu.Target>
        <Menu.Dropdown>
          <Menu.Item onClick={() => put({ is_admin: !user.is_admin })}>
            {user.is_admin ? "Remove site administrator" : "Make a site administrator"}
          </Menu.Item>
          <Menu.Item onClick={user.disabled_at ? () => put({ disabled: false }) : disabling.open}>
            {user.disabled_at ? "Enable" : "Disable"}
          </Menu.Item>
          <Menu.Divider />
          <Menu.Item onClick={dialog.open}>Delete</Menu.Item>
        </Menu.Dropdown>
      </Menu>
      <ConfirmByName
        opened={asking}
        onClose={disabling.close}
        title={`Disable ${user.name}?`}
        name={user.name}
        explanation="Their sessions and tokens end now, and stay gone when you enable them again. Their jobs go on."
        action="Disable"
        onConfirm={() => change.mutate({ user: user.name, disabled: true }, { onSuccess: disabling.close })}
        busy={change.isPending}
        error={change.error}
      />
      <ConfirmByName
        opened={opened}
        onClose={dialog.close}
        title={`Delete ${user.name}?`}
        name={user.name}
        explanation="Their tokens and sessions end now. Their data stays."
        action="Delete"
        onConfirm={() => remove.mutate(user.name, { onSuccess: dialog.close })}
        busy={remove.isPending}
        error={remove.error}
      />
    </>
  );
}

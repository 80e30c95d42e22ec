import { ActionIcon, Menu, Text } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import {
  IconApi,
  IconBook,
  IconKey,
  IconLock,
  IconLogout,
  IconUser,
  IconUserCircle,
} from "@tabler/icons-react";
import { Link, useNavigate } from "@tanstack/react-router";
import { useSession, useSignOut } from "../../api/session";
import { uploads } from "../../hooks/useUploads";
import { docsAddress } from "../../lib/base";
import { ChangePassword } from "./ChangePassword";

export function UserMenu() {
  const session = useSession();
  const navigate = useNavigate();
  const signOut = useSignOut();
  const [changing, password] = useDisclosure(false);
  if (!session) return null;
  const leave = () => {
    uploads.leave();
    signOut.mutate(undefined, {
      // Whoever signed in with a provider signs out there, too, and comes back to the sign-in page.
      onSettled: (ended) => (ended?.url ? window.location.assign(ended.url) : navigate({ to: "/login" })),
    });
  };
  return (
    <>
      <Menu position="bottom-end" width={220}>
        <Menu.Target>
          <ActionIcon
            variant="subtle"
            color="gray"
            size="lg"
            aria-label={`Signed in as ${session.user.name}`}
          >
            <IconUserCircle size={22} />
          </ActionIcon>
        </Menu.Target>
        <Menu.Dropdown>
          <Menu.Label>
            {session.user.full_name || session.user.name}
            <Text size="xs" c="dimmed">
              {session.user.is_admin ? "site administrator" : session.user.name}
            </Text>
          </Menu.Label>
          <Menu.Item component={Link} to="/tokens" leftSection={<IconKey size={16} aria-hidden />}>
            Tokens
          </Menu.Item>
          <Menu.Item component={Link} to="/account" leftSection={<IconUser size={16} aria-hidden />}>
            Account
          </Menu.Item>
          {session.has_password && (
            <Menu.Item leftSection={<IconLock size={16} aria-hidden />} onClick={password.open}>
              Change password
            </Menu.Item>
          )}
          <Menu.Item leftSection={<IconLogout size={16} aria-hidden />} onClick={leave}>
            Sign out
          </Menu.Item>
          <Menu.Divider />
          <Menu.Item
            component="a"
            href={docsAddress()}
            target="_blank"
            leftSection={<IconBook size={16} aria-hidden />}
          >
            Documentation
          </Menu.Item>
          <Menu.Item
            component="a"
            href={docsAddress("api/")}
            target="_blank"
            leftSection={<IconApi size={16} aria-hidden />}
          >
            API
          </Menu.Item>
          <Menu.Divider />
          <Menu.Label>Millpond {session.server_version}</Menu.Label>
        </Menu.Dropdown>
      </Menu>
      {changing && <ChangePassword user={session.user.name} onClose={password.close} />}
    </>
  );
}

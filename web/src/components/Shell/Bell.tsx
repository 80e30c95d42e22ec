import {
  ActionIcon,
  Button,
  Group,
  Indicator,
  Popover,
  ScrollArea,
  Stack,
  Text,
  Tooltip,
  VisuallyHidden,
} from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { IconBell } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";
import { latestNotificationsQuery, useMarkRead } from "../../api/notifications";
import { useSession } from "../../api/session";
import { useTopic } from "../../hooks/useLive";
import { plural } from "../../lib/quantity";
import { NotificationRow } from "../NotificationRow";
import { tell } from "../notify";
import { TextLink } from "../TextLink";

const MOST_SHOWN = 99;

/** What happened that concerns the viewer: how much of it is unread, and the newest of it. */
export function Bell() {
  const [opened, popover] = useDisclosure(false);
  const user = useSession()?.user;
  useTopic(user ? `notifications:${user.id}` : null);
  const result = useQuery(latestNotificationsQuery);
  const mark = useMarkRead();
  const unread = result.data?.unread ?? 0;
  const words = unread ? `Notifications: ${unread} unread` : "Notifications";
  return (
    <Popover opened={opened} onChange={popover.set} position="bottom-end" width={400} trapFocus returnFocus>
      <Popover.Target>
        <Tooltip label={words} disabled={opened}>
          <Indicator
            label={unread > MOST_SHOWN ? `${MOST_SHOWN}+` : unread}
            disabled={unread === 0}
            size={16}
            offset={6}
            color="red.9"
          >
            <ActionIcon
              variant="subtle"
              color="gray"
              size="lg"
              onClick={popover.toggle}
              aria-label={words}
              aria-expanded={opened}
            >
              <IconBell size={20} />
            </ActionIcon>
          </Indicator>
        </Tooltip>
      </Popover.Target>
      <Popover.Dropdown p={0} maw="calc(100vw - 16px)" aria-label="Notifications">
        <Group justify="space-between" px="md" py="xs">
          <Text fw={600}>Notifications</Text>
          {unread > 0 && (
            <Button
              size="compact-sm"
              variant="default"
              loading={mark.isPending}
              onClick={() => tell(mark.mutateAsync(undefined))}
            >
              Mark all as read
            </Button>
          )}
        </Group>
        <ScrollArea.Autosize mah={420} viewportProps={{ tabIndex: 0, "aria-label": "Newest notifications" }}>
          <Stack gap={0}>
            {result.data?.items.map((one) => (
              <NotificationRow key={one.id} notification={one} onFollow={popover.close} />
            ))}
            {result.data?.items.length === 0 && (
              <Text size="sm" c="dimmed" px="md" py="sm">
                Nothing yet. You are told here when a job of yours fails.
              </Text>
            )}
          </Stack>
        </ScrollArea.Autosize>
        <Group justify="space-between" px="md" py="xs">
          <TextLink to="/notifications" size="sm" onClick={popover.close}>
            See all
          </TextLink>
          <TextLink to="/account" size="sm" onClick={popover.close}>
            Choose what you are told
          </TextLink>
        </Group>
      </Popover.Dropdown>
      <VisuallyHidden role="status">{unread ? plural(unread, "unread notification") : ""}</VisuallyHidden>
    </Popover>
  );
}

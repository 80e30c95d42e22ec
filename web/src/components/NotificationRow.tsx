import { ActionIcon, Box, Group, List, Text, Tooltip } from "@mantine/core";
import { IconCheck } from "@tabler/icons-react";
import { useMarkRead } from "../api/notifications";
import type { Notification } from "../api/shapes";
import { pageLink } from "../lib/pageLink";
import { tell } from "./notify";
import { TextLink } from "./TextLink";
import { Time } from "./Time";

const SHOWN = 5;

interface Props {
  notification: Notification;
  /** Called when a link is followed; what it leads to is read then. */
  onFollow?: () => void;
}

/** One notification: what happened, why, where and when. Unread ones are bold and have a button. */
export function NotificationRow({ notification, onFollow }: Props) {
  const mark = useMarkRead();
  const { id, count, items, project, title, read_at: readAt } = notification;
  const isUnread = !readAt;
  const [first] = items;
  const read = () => tell(mark.mutateAsync([id]));
  const follow = () => {
    if (isUnread) void read();
    onFollow?.();
  };
  return (
    <Box px="md" py="xs" style={{ borderTop: "1px solid var(--mantine-color-default-border)" }}>
      <Group justify="space-between" wrap="nowrap" align="flex-start" gap="xs">
        <div style={{ minWidth: 0 }}>
          {count === 1 && first ? (
            <TextLink
              {...pageLink(first.link)}
              size="sm"
              fw={isUnread ? 600 : 400}
              onClick={follow}
              className="row-name"
            >
              {title}
            </TextLink>
          ) : (
            <Text size="sm" fw={isUnread ? 600 : 400}>
              {title}
            </Text>
          )}
          {count === 1 && first?.text && (
            <Text size="sm" lineClamp={3} className="row-name">
              {first.text}
            </Text>
          )}
          {count > 1 && <Several notification={notification} onFollow={follow} />}
          <Text size="xs" c="dimmed">
            {project && `${project} · `}
            <Time at={notification.at} />
          </Text>
        </div>
        {isUnread && (
          <Tooltip label="Mark as read">
            <ActionIcon variant="default" size="sm" aria-label={`Mark as read: ${title}`} onClick={read}>
              <IconCheck size={14} />
            </ActionIcon>
          </Tooltip>
        )}
      </Group>
    </Box>
  );
}

function Several({ notification, onFollow }: { notification: Notification; onFollow: () => void }) {
  const shown = notification.items.slice(0, SHOWN);
  const rest = notification.count - shown.length;
  return (
    <List size="sm">
      {shown.map((item) => (
        <List.Item key={`${item.subject} ${item.at}`}>
          <TextLink {...pageLink(item.link)} size="sm" onClick={onFollow} className="row-name">
            {item.title}
          </TextLink>
        </List.Item>
      ))}
      {rest > 0 && <List.Item>and {rest.toLocaleString("en")} more</List.Item>}
    </List>
  );
}

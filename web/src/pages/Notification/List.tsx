import { Button, Group, Paper, Switch, Text } from "@mantine/core";
import { IconBell } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { latestNotificationsQuery, notificationPages, useMarkRead } from "../../api/notifications";
import { EmptyState } from "../../components/EmptyState";
import { NotificationRow } from "../../components/NotificationRow";
import { notifyDone, tell } from "../../components/notify";
import { PageHeader } from "../../components/PageHeader";
import { Pages } from "../../components/Pages";
import { TextLink } from "../../components/TextLink";
import { plural } from "../../lib/quantity";

const route = getRouteApi("/in/notifications");

/** All notifications of the viewer, newest first. */
export function NotificationList() {
  const { page, unread = false } = route.useSearch();
  const navigate = route.useNavigate();
  const count = useQuery(latestNotificationsQuery).data?.unread ?? 0;
  const mark = useMarkRead();
  const readAll = () =>
    tell(mark.mutateAsync(undefined), ({ marked }) => notifyDone(`${plural(marked, "notification")} read.`));
  return (
    <>
      <PageHeader
        title="Notifications"
        below={
          <Text c="dimmed">
            {plural(count, "unread notification")}.{" "}
            <TextLink to="/account" inherit>
              Choose what you are told, and where
            </TextLink>
          </Text>
        }
        actions={
          <Group>
            <Switch
              label="Only unread"
              checked={unread}
              onChange={(event) => navigate({ search: { unread: event.currentTarget.checked || undefined } })}
            />
            {count > 0 && (
              <Button variant="default" loading={mark.isPending} onClick={readAll}>
                Mark all as read
              </Button>
            )}
          </Group>
        }
      />
      <Pages
        list={`notifications ${unread}`}
        query={notificationPages(unread)}
        page={page}
        onTurn={(number) => navigate({ search: { unread: unread || undefined, page: number } })}
        empty={
          <EmptyState
            icon={IconBell}
            sentence={
              unread
                ? "Everything is read."
                : "Nothing yet. You are told here when a job of yours fails, and of what else you choose."
            }
            command="mill notification list"
          />
        }
      >
        {(items) => (
          <Paper withBorder>
            {items.map((one) => (
              <NotificationRow key={one.id} notification={one} />
            ))}
          </Paper>
        )}
      </Pages>
    </>
  );
}

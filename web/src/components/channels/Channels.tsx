import { Button, Group, Stack, Text } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { IconPlus } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";
import { channelsQuery, choicesQuery } from "../../api/notifications";
import { CommandLine } from "../Copyable";
import { Loaded } from "../Loaded";
import { Section } from "../Section";
import { ChannelTable } from "./ChannelTable";
import { KindTable } from "./KindTable";
import { NewChannel } from "./NewChannel";

interface Props {
  /** Without one: the viewer's own. */
  project?: string;
  mayChange?: boolean;
}

/** What the viewer is told, and the e-mail addresses and webhooks of the viewer or of a project. */
export function Channels({ project, mayChange = true }: Props) {
  const channels = useQuery(channelsQuery(project));
  const choices = useQuery(choicesQuery(project));
  const [adding, dialog] = useDisclosure(false);
  const option = project ? ` --project ${project}` : "";
  return (
    <Stack gap="lg">
      <Section title={project ? `Notifications of ${project}` : "Notifications"}>
        <Loaded result={choices}>
          {({ items }) => (
            <KindTable
              choices={items}
              channels={channels.data?.items ?? []}
              mayChange={mayChange}
              project={project}
            />
          )}
        </Loaded>
      </Section>
      <Section
        title={project ? "Channels of the project" : "My channels"}
        bare
        actions={
          mayChange && (
            <Button
              size="compact-sm"
              variant="default"
              leftSection={<IconPlus size={14} aria-hidden />}
              onClick={dialog.open}
            >
              Add a channel
            </Button>
          )
        }
      >
        <Stack>
          <Text size="sm" c="dimmed">
            {project
              ? "E-mail addresses and webhooks that get what happens in the project, whoever caused it: at most one message in five minutes."
              : "E-mail addresses and webhooks that get what you are told: at most one message in five minutes."}
          </Text>
          <Loaded result={channels}>
            {({ items }) =>
              items.length > 0 && <ChannelTable channels={items} mayChange={mayChange} project={project} />
            }
          </Loaded>
          <Group>
            <CommandLine command={`mill notification channel list${option}`} />
          </Group>
        </Stack>
      </Section>
      {adding && <NewChannel project={project} onClose={dialog.close} />}
    </Stack>
  );
}

import { Checkbox, NativeSelect, Table } from "@mantine/core";
import { useChangeChannel, useChoose } from "../../api/notifications";
import type { Channel, NotificationChoice, NotificationKind, Whose } from "../../api/shapes";
import { tell } from "../notify";
import { optionsOf } from "./options";

interface Props {
  choices: NotificationChoice[];
  channels: Channel[];
  /** Whether the viewer may say what channels get. */
  mayChange: boolean;
  project?: string;
}

/** What the viewer is told of each kind, and which channels get it. */
export function KindTable({ choices, channels, mayChange, project }: Props) {
  return (
    <Table.ScrollContainer
      minWidth={360 + 110 * channels.length}
      scrollAreaProps={{ viewportProps: { tabIndex: 0, "aria-label": "Kinds of notifications" } }}
    >
      <Table aria-label="Kinds of notifications" verticalSpacing={6}>
        <Table.Thead>
          <Table.Tr>
            <Table.Th>What</Table.Th>
            <Table.Th>Tell me</Table.Th>
            {channels.map((one) => (
              <Table.Th key={one.id}>{one.name}</Table.Th>
            ))}
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {choices.map((choice) => (
            <Table.Tr key={choice.kind}>
              <Table.Td className="sentence">{choice.label}</Table.Td>
              <Table.Td>
                <Tell choice={choice} project={project} />
              </Table.Td>
              {channels.map((channel) => (
                <Table.Td key={channel.id}>
                  <Gets channel={channel} choice={choice} mayChange={mayChange} project={project} />
                </Table.Td>
              ))}
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </Table.ScrollContainer>
  );
}

function Tell({ choice, project }: { choice: NotificationChoice; project?: string }) {
  const choose = useChoose(project);
  const known = project && !choice.is_chosen ? "default" : choice.whose;
  // What was just chosen, until the server has said so.
  const value = choose.isPending ? (choose.variables.whose ?? "default") : known;
  return (
    <NativeSelect
      size="xs"
      maw={190}
      aria-label={`Tell me: ${choice.label}`}
      data={optionsOf(choice, project !== undefined)}
      value={value}
      disabled={choose.isPending}
      onChange={({ currentTarget }) => {
        const whose = currentTarget.value === "default" ? null : (currentTarget.value as Whose);
        void tell(choose.mutateAsync({ kind: choice.kind, whose }));
      }}
    />
  );
}

interface GetsProps {
  channel: Channel;
  choice: NotificationChoice;
  mayChange: boolean;
  project?: string;
}

function Gets({ channel, choice, mayChange, project }: GetsProps) {
  const change = useChangeChannel(project);
  const kinds = new Set<NotificationKind>(channel.kinds);
  const toggle = (on: boolean) => {
    if (on) kinds.add(choice.kind);
    else kinds.delete(choice.kind);
    void tell(change.mutateAsync({ channel: channel.name, kinds: [...kinds] }));
  };
  return (
    <Checkbox
      aria-label={`${channel.name}: ${choice.label}`}
      checked={(change.isPending ? change.variables.kinds : channel.kinds).includes(choice.kind)}
      disabled={!mayChange || change.isPending}
      onChange={({ currentTarget }) => toggle(currentTarget.checked)}
    />
  );
}

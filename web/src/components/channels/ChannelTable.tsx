import { Button, Group, Modal, Paper, Text } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { useQuery } from "@tanstack/react-query";
import { createColumnHelper } from "@tanstack/react-table";
import { deliveriesQuery, useRemoveChannel, useTestChannel } from "../../api/notifications";
import type { Channel, Delivery } from "../../api/shapes";
import { DataTable } from "../DataTable";
import { Loaded } from "../Loaded";
import { notifyDone, notifyWarning, tell } from "../notify";
import { Time } from "../Time";
import { stateWords } from "./words";

interface Props {
  channels: Channel[];
  mayChange: boolean;
  project?: string;
}

const column = createColumnHelper<Channel>();

export function ChannelTable({ channels, mayChange, project }: Props) {
  const columns = [
    column.accessor("name", { header: "Channel" }),
    column.accessor("to", {
      header: "To",
      cell: ({ getValue }) => <span className="row-name">{getValue()}</span>,
    }),
    column.accessor("last", {
      header: "Last message",
      enableSorting: false,
      cell: ({ getValue }) => <Last delivery={getValue()} />,
    }),
    column.display({
      id: "actions",
      header: "Actions",
      cell: ({ row }) => <Actions channel={row.original} mayChange={mayChange} project={project} />,
    }),
  ];
  return (
    <Paper withBorder>
      <DataTable label="Channels" rows={channels} columns={columns} rowId={(one) => one.id} minWidth={620} />
    </Paper>
  );
}

function Last({ delivery }: { delivery: Delivery | null }) {
  if (!delivery) return <>none yet</>;
  return (
    <>
      <Text size="sm">
        {stateWords(delivery)} <Time at={delivery.tried_at} />
      </Text>
      {delivery.problem && (
        <Text size="xs" className="row-name">
          {delivery.problem}
        </Text>
      )}
    </>
  );
}

function Actions({
  channel,
  mayChange,
  project,
}: {
  channel: Channel;
  mayChange: boolean;
  project?: string;
}) {
  const [shown, deliveries] = useDisclosure(false);
  const test = useTestChannel(project);
  const remove = useRemoveChannel(project);
  const { name } = channel;
  const tryIt = () =>
    tell(test.mutateAsync(name), ({ works, problem, hint }) =>
      works
        ? notifyDone(`${name} took the test message.`)
        : notifyWarning([problem, hint].filter(Boolean).join(" ")),
    );
  return (
    <Group gap="xs" wrap="nowrap">
      {mayChange && (
        <Button
          size="compact-sm"
          variant="default"
          loading={test.isPending}
          onClick={tryIt}
          aria-label={`Test ${name}`}
        >
          Test
        </Button>
      )}
      <Button
        size="compact-sm"
        variant="default"
        onClick={deliveries.open}
        aria-label={`Messages to ${name}`}
      >
        Messages
      </Button>
      {mayChange && (
        <Button
          size="compact-sm"
          variant="default"
          loading={remove.isPending}
          onClick={() => tell(remove.mutateAsync(name), () => notifyDone(`Channel ${name} removed.`))}
          aria-label={`Remove ${name}`}
        >
          Remove
        </Button>
      )}
      {shown && <Deliveries channel={name} project={project} onClose={deliveries.close} />}
    </Group>
  );
}

const sent = createColumnHelper<Delivery>();

const DELIVERY_COLUMNS = [
  sent.accessor("created_at", { header: "Since", cell: ({ getValue }) => <Time at={getValue()} /> }),
  sent.accessor("title", {
    header: "What",
    cell: ({ getValue }) => <span className="row-name">{getValue()}</span>,
  }),
  sent.accessor("state", { header: "State", cell: ({ row }) => stateWords(row.original) }),
  sent.accessor("attempts", { header: "Attempts" }),
  sent.accessor("status", { header: "Answer", cell: ({ getValue }) => getValue() ?? "–" }),
  sent.accessor("problem", {
    header: "Problem",
    cell: ({ getValue }) => <span className="row-name">{getValue() ?? "–"}</span>,
  }),
];

interface DeliveriesProps {
  channel: string;
  project?: string;
  onClose: () => void;
}

function Deliveries({ channel, project, onClose }: DeliveriesProps) {
  const result = useQuery(deliveriesQuery(channel, project));
  return (
    <Modal
      opened
      onClose={onClose}
      title={`Messages to ${channel}`}
      size="xl"
      closeButtonProps={{ "aria-label": "Close" }}
    >
      <Loaded result={result}>
        {({ items }) =>
          items.length ? (
            <DataTable label="Messages" rows={items} columns={DELIVERY_COLUMNS} rowId={(one) => one.id} />
          ) : (
            <Text size="sm">Nothing was sent yet.</Text>
          )
        }
      </Loaded>
    </Modal>
  );
}

import { Anchor, Box, List, Modal, Stack, Text } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { createColumnHelper } from "@tanstack/react-table";
import { useMemo } from "react";
import type { Mirror, MirrorIssue } from "../../../api/shapes";
import { DataTable } from "../../../components/DataTable";
import { Status } from "../../../components/Status";
import { TextLink } from "../../../components/TextLink";
import { Time } from "../../../components/Time";
import { formatSeconds, plural } from "../../../lib/quantity";
import { MirrorActions } from "./MirrorActions";
import { describeLag, describeMirrored } from "./mirrorDraft";

const column = createColumnHelper<Mirror>();

const COLUMNS = [
  column.accessor("name", { header: "Mirror" }),
  column.accessor("state", { header: "State", cell: ({ row }) => <State mirror={row.original} /> }),
  column.accessor("source", { header: "From", cell: ({ row }) => <From mirror={row.original} /> }),
  column.accessor("target", { header: "To", cell: ({ row }) => <To mirror={row.original} /> }),
  column.display({ id: "lag", header: "Behind", cell: ({ row }) => describeLag(row.original.lag) }),
  column.display({ id: "last", header: "Last run", cell: ({ row }) => <LastRun mirror={row.original} /> }),
  column.display({
    id: "conflicts",
    header: "Conflicts",
    cell: ({ row }) => <Conflicts mirror={row.original} />,
  }),
  column.accessor("next_at", {
    header: "Next run",
    cell: ({ row, getValue }) =>
      getValue() ? (
        <Time at={getValue() as string} />
      ) : row.original.state === "paused" ? (
        "when resumed"
      ) : (
        "–"
      ),
  }),
];

export function MirrorTable({ mirrors, mayChange }: { mirrors: Mirror[]; mayChange: boolean }) {
  const columns = useMemo(
    () =>
      mayChange
        ? [
            ...COLUMNS,
            column.display({
              id: "actions",
              header: "Actions",
              cell: ({ row }) => <MirrorActions mirror={row.original} />,
            }),
          ]
        : COLUMNS,
    [mayChange],
  );
  return <DataTable label="Mirrors" rows={mirrors} columns={columns} rowId={(mirror) => mirror.id} />;
}

function State({ mirror }: { mirror: Mirror }) {
  return (
    <Box miw={100}>
      <Status state={mirror.state} />
      {mirror.progress && (
        <Text size="xs" c="dimmed" mt={2}>
          {mirror.progress}
        </Text>
      )}
    </Box>
  );
}

function From({ mirror }: { mirror: Mirror }) {
  const { project, dataset, workspace, source } = mirror;
  if (dataset)
    return (
      <TextLink to="/projects/$project/datasets/$dataset" params={{ project, dataset }}>
        {source}
      </TextLink>
    );
  return (
    <TextLink
      to="/projects/$project/workspaces/$workspace"
      params={{ project, workspace: workspace as string }}
    >
      {source}
    </TextLink>
  );
}

function To({ mirror }: { mirror: Mirror }) {
  return (
    <Stack gap={0} miw={180}>
      <Text size="sm" style={{ overflowWrap: "anywhere" }}>
        {mirror.target}
      </Text>
      <Text size="xs" c="dimmed">
        {mirror.connection && `${mirror.connection} · `}every {formatSeconds(mirror.every_seconds)}
      </Text>
    </Stack>
  );
}

function LastRun({ mirror }: { mirror: Mirror }) {
  if (!mirror.ended_at) return "not yet";
  return (
    <Stack gap={0}>
      <Time at={mirror.ended_at} />
      <Text size="xs" c={mirror.problem ? undefined : "dimmed"} maw={320}>
        {mirror.problem ?? (mirror.result && describeMirrored(mirror.result))}
      </Text>
    </Stack>
  );
}

/** How many files of the target are left as others made them, and which. */
function Conflicts({ mirror }: { mirror: Mirror }) {
  const [opened, dialog] = useDisclosure(false);
  const count = mirror.result?.conflict_count ?? 0;
  const skipped = mirror.result?.skipped_count ?? 0;
  if (!count && !skipped) return "none";
  const words = [count && plural(count, "conflict"), skipped && `${skipped.toLocaleString("en")} left out`];
  return (
    <>
      <Anchor component="button" type="button" size="sm" onClick={dialog.open}>
        {words.filter(Boolean).join(", ")}
      </Anchor>
      <Modal
        opened={opened}
        onClose={dialog.close}
        title={`What ${mirror.name} did not mirror`}
        size="lg"
        closeButtonProps={{ "aria-label": "Close" }}
      >
        <Stack>
          <Issues
            title="Changed at the target by others, and left as they are"
            found={mirror.result?.conflicts}
          />
          <Issues title="Left out" found={mirror.result?.skipped} />
        </Stack>
      </Modal>
    </>
  );
}

function Issues({ title, found }: { title: string; found: MirrorIssue[] | undefined }) {
  if (!found?.length) return null;
  return (
    <section aria-label={title}>
      <Text fw={600} size="sm" mb={4}>
        {title}
      </Text>
      <List size="sm">
        {found.map((one) => (
          <List.Item key={one.path} style={{ overflowWrap: "anywhere" }}>
            {one.path}: {one.reason}
          </List.Item>
        ))}
      </List>
    </section>
  );
}

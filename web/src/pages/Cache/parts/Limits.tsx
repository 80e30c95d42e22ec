import {
  ActionIcon,
  Button,
  Group,
  NumberInput,
  Paper,
  Progress,
  Select,
  Stack,
  Table,
  Text,
  Title,
  Tooltip,
} from "@mantine/core";
import { IconTrash } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { projectsQuery } from "../../../api/projects";
import { useSession } from "../../../api/session";
import type { Volume, VolumeLimit } from "../../../api/shapes";
import { usePutLimit, useRemoveLimit } from "../../../api/volumes";
import { CommandLine } from "../../../components/Copyable";
import { tell } from "../../../components/notify";
import { shellQuote } from "../../../lib/names";
import { formatBytes } from "../../../lib/quantity";

/** What projects may take of a volume at most. Those without a limit share what is left. */
export function Limits({ volume }: { volume: Volume }) {
  const isAdmin = useSession()?.user.is_admin ?? false;
  if (!isAdmin && volume.limits.length === 0) return null;
  return (
    <section>
      <Title order={2} size="h4" mb="xs">
        Limits of projects
      </Title>
      <Paper withBorder p="md">
        <Stack>
          {volume.limits.length === 0 ? (
            <Text size="sm">No project has a limit here: all share the volume.</Text>
          ) : (
            <LimitTable volume={volume} isAdmin={isAdmin} />
          )}
          {isAdmin && <NewLimit volume={volume} />}
        </Stack>
      </Paper>
    </section>
  );
}

function LimitTable({ volume, isAdmin }: { volume: Volume; isAdmin: boolean }) {
  return (
    <Table aria-label="Limits of projects">
      <Table.Thead>
        <Table.Tr>
          <Table.Th>Project</Table.Th>
          <Table.Th>Used</Table.Th>
          <Table.Th>At most</Table.Th>
          {isAdmin && <Table.Th>Actions</Table.Th>}
        </Table.Tr>
      </Table.Thead>
      <Table.Tbody>
        {volume.limits.map((limit) => (
          <Table.Tr key={limit.project}>
            <Table.Td>{limit.project}</Table.Td>
            <Table.Td>
              {formatBytes(limit.used_bytes)}
              <Progress
                value={(100 * limit.used_bytes) / limit.bytes}
                color="cyan.7"
                aria-label={`Share of the limit that ${limit.project} uses`}
              />
            </Table.Td>
            <Table.Td>{formatBytes(limit.bytes)}</Table.Td>
            {isAdmin && (
              <Table.Td>
                <RemoveLimit volume={volume.name} limit={limit} />
              </Table.Td>
            )}
          </Table.Tr>
        ))}
      </Table.Tbody>
    </Table>
  );
}

function RemoveLimit({ volume, limit }: { volume: string; limit: VolumeLimit }) {
  const remove = useRemoveLimit();
  const label = `Remove the limit of ${limit.project}`;
  return (
    <Tooltip label={label}>
      <ActionIcon
        variant="default"
        aria-label={label}
        loading={remove.isPending}
        onClick={() => tell(remove.mutateAsync({ volume, project: limit.project }))}
      >
        <IconTrash size={16} />
      </ActionIcon>
    </Tooltip>
  );
}

function NewLimit({ volume }: { volume: Volume }) {
  const put = usePutLimit();
  const projects = useQuery(projectsQuery).data?.items.map((project) => project.name) ?? [];
  const [project, setProject] = useState<string | null>(null);
  const [gigabytes, setGigabytes] = useState<number | string>("");
  const bytes = Math.round(Number(gigabytes) * 1e9);
  const command = `mill volume limit ${shellQuote(volume.name)} ${project ? shellQuote(project) : "PROJECT"} ${bytes > 0 ? `${gigabytes}GB` : "SIZE"}`;
  return (
    <>
      <Group align="flex-end">
        <Select label="Project" data={projects} searchable value={project} onChange={setProject} w={200} />
        <NumberInput label="At most (GB)" min={0} value={gigabytes} onChange={setGigabytes} w={140} />
        <Button
          variant="default"
          disabled={!project || !(bytes > 0)}
          loading={put.isPending}
          onClick={() => project && tell(put.mutateAsync({ volume: volume.name, project, bytes }))}
        >
          Set limit
        </Button>
      </Group>
      <CommandLine command={command} />
    </>
  );
}

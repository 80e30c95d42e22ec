import { Button, Group, Paper, Table, Text, VisuallyHidden } from "@mantine/core";
import { useInfiniteQuery } from "@tanstack/react-query";
import { useState } from "react";
import { datasetsQuery, usePurgeDataset, useUndeleteDataset } from "../../../api/datasets";
import { useMay } from "../../../api/session";
import type { Dataset } from "../../../api/shapes";
import { ConfirmByName } from "../../../components/ConfirmByName";
import { CommandLine } from "../../../components/Copyable";
import { notifyDone, tell } from "../../../components/notify";
import { Paged } from "../../../components/Paged";
import { Time } from "../../../components/Time";
import { formatBytes, plural } from "../../../lib/quantity";

/** Deleted datasets, newest first: brought back by one click, or gone for good by typing their name. */
export function DatasetBin({ project }: { project: string | undefined }) {
  const result = useInfiniteQuery(datasetsQuery({ project, deleted: true }));
  return (
    <Paged result={result} empty={<Text>The bin is empty.</Text>}>
      {(datasets) => (
        <>
          <Paper withBorder>
            <Table.ScrollContainer
              minWidth={640}
              scrollAreaProps={{ viewportProps: { tabIndex: 0, "aria-label": "Datasets in the bin" } }}
            >
              <Table aria-label="Datasets in the bin" verticalSpacing={6}>
                <Table.Thead>
                  <Table.Tr>
                    <Table.Th>Dataset</Table.Th>
                    <Table.Th>Deleted</Table.Th>
                    <Table.Th ta="right">Size</Table.Th>
                    <Table.Th ta="right">Commits</Table.Th>
                    <Table.Th>
                      <VisuallyHidden>Actions</VisuallyHidden>
                    </Table.Th>
                  </Table.Tr>
                </Table.Thead>
                <Table.Tbody>
                  {datasets.map((dataset) => (
                    <BinRow key={dataset.id} dataset={dataset} />
                  ))}
                </Table.Tbody>
              </Table>
            </Table.ScrollContainer>
          </Paper>
          <CommandLine command="mill data list --deleted" />
        </>
      )}
    </Paged>
  );
}

function BinRow({ dataset }: { dataset: Dataset }) {
  const may = useMay(dataset.project, "admin");
  return (
    <Table.Tr>
      <Table.Td>
        <Text fw={600} inherit>
          {dataset.name}
        </Text>
        <Text size="xs" c="dimmed">
          {dataset.project}
        </Text>
      </Table.Td>
      <Table.Td>
        <Time at={dataset.deleted_at} />
      </Table.Td>
      <Table.Td ta="right">{formatBytes(dataset.bytes)}</Table.Td>
      <Table.Td ta="right">{dataset.commits.toLocaleString("en")}</Table.Td>
      <Table.Td>{may && <BinActions dataset={dataset} />}</Table.Td>
    </Table.Tr>
  );
}

function BinActions({ dataset }: { dataset: Dataset }) {
  const restore = useUndeleteDataset();
  const purge = usePurgeDataset();
  const [asking, setAsking] = useState(false);
  // By id: several deleted datasets may have had one name.
  const place = { project: dataset.project, dataset: dataset.id };
  return (
    <Group gap="xs" wrap="nowrap" justify="flex-end">
      <Button
        variant="default"
        size="xs"
        loading={restore.isPending}
        onClick={() => tell(restore.mutateAsync(place), () => notifyDone(`${dataset.name} is back.`))}
      >
        Restore
      </Button>
      <Button variant="default" size="xs" onClick={() => setAsking(true)}>
        Delete permanently
      </Button>
      <ConfirmByName
        opened={asking}
        onClose={() => setAsking(false)}
        title={`Delete ${dataset.name} permanently?`}
        name={dataset.name}
        explanation={`Deletes ${plural(dataset.commits, "commit")}. This cannot be undone. The next garbage collection frees the space.`}
        action="Delete dataset permanently"
        onConfirm={() =>
          purge.mutate(place, { onSuccess: () => notifyDone(`${dataset.name} deleted permanently.`) })
        }
        busy={purge.isPending}
        error={purge.error}
      />
    </Group>
  );
}

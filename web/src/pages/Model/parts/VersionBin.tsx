import { Button, Paper, Table, Text, VisuallyHidden } from "@mantine/core";
import { useInfiniteQuery } from "@tanstack/react-query";
import { deletedVersionsQuery, type ModelPlace, useUndeleteVersion } from "../../../api/models";
import { useMay } from "../../../api/session";
import { notifyDone, tell } from "../../../components/notify";
import { Paged } from "../../../components/Paged";
import { Time } from "../../../components/Time";
import { formatBytes } from "../../../lib/quantity";

/** Versions in the bin: they come back with their number, without their aliases. */
export function VersionBin({ place }: { place: ModelPlace }) {
  const result = useInfiniteQuery(deletedVersionsQuery(place));
  const may = useMay(place.project, "member");
  const restore = useUndeleteVersion();
  return (
    <Paged
      result={result}
      empty={<Text>No deleted versions. Those that are deleted stay here for 30 days.</Text>}
    >
      {(versions) => (
        <Paper withBorder>
          <Table aria-label="Deleted versions" verticalSpacing={6}>
            <Table.Thead>
              <Table.Tr>
                <Table.Th>Version</Table.Th>
                <Table.Th>Deleted</Table.Th>
                <Table.Th ta="right">Size</Table.Th>
                <Table.Th>
                  <VisuallyHidden>Actions</VisuallyHidden>
                </Table.Th>
              </Table.Tr>
            </Table.Thead>
            <Table.Tbody>
              {versions.map(({ version, deleted_at, bytes }) => (
                <Table.Tr key={version}>
                  <Table.Td>Version {version}</Table.Td>
                  <Table.Td>
                    <Time at={deleted_at} />
                  </Table.Td>
                  <Table.Td ta="right">{formatBytes(bytes)}</Table.Td>
                  <Table.Td ta="right">
                    {may && (
                      <Button
                        variant="default"
                        size="xs"
                        aria-label={`Restore version ${version}`}
                        onClick={() =>
                          tell(restore.mutateAsync({ ...place, version: String(version) }), () =>
                            notifyDone(`Version ${version} is back.`),
                          )
                        }
                      >
                        Restore
                      </Button>
                    )}
                  </Table.Td>
                </Table.Tr>
              ))}
            </Table.Tbody>
          </Table>
        </Paper>
      )}
    </Paged>
  );
}

import { Anchor, Paper, Table, Title } from "@mantine/core";
import { useInfiniteQuery } from "@tanstack/react-query";
import { itemsOf } from "../../../api/paging";
import { artifactAddress, artifactsQuery, type RunPlace } from "../../../api/runs";
import { Paged } from "../../../components/Paged";
import { Time } from "../../../components/Time";
import { formatBytes } from "../../../lib/quantity";

/** Files a run kept. They are downloaded, never shown in the page's own origin. */
export function Artifacts({ place }: { place: RunPlace }) {
  const result = useInfiniteQuery(artifactsQuery(place));
  if (itemsOf(result.data).length === 0) return null;
  return (
    <section>
      <Title order={2} size="h4" mb="xs">
        Artifacts
      </Title>
      <Paper withBorder>
        <Paged result={result} empty={null}>
          {(artifacts) => (
            <Table aria-label="Artifacts" verticalSpacing={6}>
              <Table.Tbody>
                {artifacts.map((artifact) => (
                  <Table.Tr key={artifact.path}>
                    <Table.Td>
                      <Anchor href={artifactAddress(place, artifact.path)} download size="sm">
                        {artifact.path}
                      </Anchor>
                    </Table.Td>
                    <Table.Td>{formatBytes(artifact.size)}</Table.Td>
                    <Table.Td>
                      <Time at={artifact.created_at} />
                    </Table.Td>
                  </Table.Tr>
                ))}
              </Table.Tbody>
            </Table>
          )}
        </Paged>
      </Paper>
    </section>
  );
}

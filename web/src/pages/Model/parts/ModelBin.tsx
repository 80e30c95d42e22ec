import { Button, Paper, Table, Text, VisuallyHidden } from "@mantine/core";
import { useInfiniteQuery } from "@tanstack/react-query";
import { modelsQuery, useUndeleteModel } from "../../../api/models";
import { useMay } from "../../../api/session";
import type { Model } from "../../../api/shapes";
import { CommandLine } from "../../../components/Copyable";
import { notifyDone, tell } from "../../../components/notify";
import { Paged } from "../../../components/Paged";
import { Time } from "../../../components/Time";

/** Deleted models, brought back with all their versions by one click. */
export function ModelBin({ project }: { project: string | undefined }) {
  const result = useInfiniteQuery(modelsQuery({ project, deleted: true }));
  return (
    <Paged result={result} empty={<Text>The bin is empty.</Text>}>
      {(models) => (
        <>
          <Paper withBorder>
            <Table aria-label="Models in the bin" verticalSpacing={6}>
              <Table.Thead>
                <Table.Tr>
                  <Table.Th>Model</Table.Th>
                  <Table.Th>Project</Table.Th>
                  <Table.Th>Deleted</Table.Th>
                  <Table.Th>
                    <VisuallyHidden>Actions</VisuallyHidden>
                  </Table.Th>
                </Table.Tr>
              </Table.Thead>
              <Table.Tbody>
                {models.map((model) => (
                  <BinRow key={model.id} model={model} />
                ))}
              </Table.Tbody>
            </Table>
          </Paper>
          <CommandLine command="mill model list --deleted" />
        </>
      )}
    </Paged>
  );
}

function BinRow({ model }: { model: Model }) {
  const may = useMay(model.project, "member");
  const restore = useUndeleteModel();
  const place = { project: model.project, model: model.name };
  return (
    <Table.Tr>
      <Table.Td fw={600} style={{ overflowWrap: "anywhere" }}>
        {model.name}
      </Table.Td>
      <Table.Td>{model.project}</Table.Td>
      <Table.Td>
        <Time at={model.deleted_at} />
      </Table.Td>
      <Table.Td ta="right">
        {may && (
          <Button
            variant="default"
            size="xs"
            loading={restore.isPending}
            onClick={() => tell(restore.mutateAsync(place), () => notifyDone(`${model.name} is back.`))}
          >
            Restore
          </Button>
        )}
      </Table.Td>
    </Table.Tr>
  );
}

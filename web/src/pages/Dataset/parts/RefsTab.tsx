import { ActionIcon, Button, Group, Paper, Stack, Table, Text, Tooltip, VisuallyHidden } from "@mantine/core";
import { IconGitBranch, IconGitCompare, IconPlus, IconTag, IconTrash } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { type DatasetPlace, refsQuery } from "../../../api/datasets";
import { useCreateRef, useDeleteRef } from "../../../api/histories";
import { useMay } from "../../../api/session";
import type { Dataset, Ref } from "../../../api/shapes";
import { CommandLine } from "../../../components/Copyable";
import { Loaded } from "../../../components/Loaded";
import { notifyDone, notifyUndo, tell } from "../../../components/notify";
import { TextLink } from "../../../components/TextLink";
import { Time } from "../../../components/Time";
import { shortId } from "../../../lib/names";
import { NewRef } from "./NewRef";
import { NoCommits } from "./NoCommits";

/** All branches and tags: where they are, and what can be done with them. */
export function RefsTab({ dataset }: { dataset: Dataset }) {
  const place = { project: dataset.project, dataset: dataset.name };
  const may = useMay(dataset.project, "member") && dataset.kind === "data";
  const result = useQuery(refsQuery(place));
  const [making, setMaking] = useState<"branch" | "tag" | null>(null);
  if (dataset.head === null) return <NoCommits dataset={dataset} />;
  return (
    <Stack>
      <Group justify="space-between">
        <Group gap="xs">
          {may && (
            <>
              <Button
                variant="default"
                leftSection={<IconPlus size={16} aria-hidden />}
                onClick={() => setMaking("branch")}
              >
                New branch
              </Button>
              <Button
                variant="default"
                leftSection={<IconPlus size={16} aria-hidden />}
                onClick={() => setMaking("tag")}
              >
                New tag
              </Button>
            </>
          )}
        </Group>
        <CommandLine command={`mill data refs ${dataset.project}/${dataset.name}`} />
      </Group>
      <Loaded result={result}>
        {({ items }) => (
          <Paper withBorder>
            <Table.ScrollContainer
              minWidth={560}
              scrollAreaProps={{ viewportProps: { tabIndex: 0, "aria-label": "Branches and tags" } }}
            >
              <Table aria-label="Branches and tags" verticalSpacing={6}>
                <Table.Thead>
                  <Table.Tr>
                    <Table.Th>Name</Table.Th>
                    <Table.Th>Commit</Table.Th>
                    <Table.Th>Moved</Table.Th>
                    <Table.Th>
                      <VisuallyHidden>Actions</VisuallyHidden>
                    </Table.Th>
                  </Table.Tr>
                </Table.Thead>
                <Table.Tbody>
                  {items.map((ref) => (
                    <RefRow key={ref.name} item={ref} dataset={dataset} may={may} />
                  ))}
                </Table.Tbody>
              </Table>
            </Table.ScrollContainer>
          </Paper>
        )}
      </Loaded>
      {making && (
        <NewRef place={place} type={making} at={dataset.default_branch} onClose={() => setMaking(null)} />
      )}
    </Stack>
  );
}

function RefRow({ item, dataset, may }: { item: Ref; dataset: Dataset; may: boolean }) {
  const place = { project: dataset.project, dataset: dataset.name };
  const Picture = item.type === "branch" ? IconGitBranch : IconTag;
  const isDefault = item.name === dataset.default_branch;
  return (
    <Table.Tr>
      <Table.Td>
        <Group gap="xs" wrap="nowrap">
          <Picture size={16} aria-label={item.type} style={{ flexShrink: 0 }} />
          <TextLink
            to="/projects/$project/datasets/$dataset"
            params={place}
            search={{ tab: "files", ref: item.name }}
            style={{ overflowWrap: "anywhere" }}
          >
            {item.name}
          </TextLink>
          {isDefault && (
            <Text size="sm" c="dimmed">
              the default branch
            </Text>
          )}
        </Group>
      </Table.Td>
      <Table.Td>
        <TextLink
          to="/projects/$project/datasets/$dataset"
          params={place}
          search={{ tab: "commit", ref: item.commit_id }}
          className="mono"
          size="sm"
        >
          {shortId(item.commit_id)}
        </TextLink>
      </Table.Td>
      <Table.Td>
        <Time at={item.moved_at} />
      </Table.Td>
      <Table.Td>
        <Group gap={6} wrap="nowrap" justify="flex-end">
          {!isDefault && (
            <TextLink
              to="/projects/$project/datasets/$dataset"
              params={place}
              search={{ tab: "diff", before: dataset.default_branch, after: item.name }}
              size="sm"
            >
              <Group gap={4} wrap="nowrap">
                <IconGitCompare size={16} aria-hidden /> compare
              </Group>
            </TextLink>
          )}
          {may && !isDefault && <DeleteRef item={item} place={place} />}
        </Group>
      </Table.Td>
    </Table.Tr>
  );
}

/** Its commits stay, so it can be made anew where it was. */
function DeleteRef({ item, place }: { item: Ref; place: DatasetPlace }) {
  const remove = useDeleteRef(place);
  const create = useCreateRef(place);
  const bringBack = () =>
    tell(create.mutateAsync({ name: item.name, type: item.type, at: item.commit_id }), () =>
      notifyDone(`The ${item.type} ${item.name} is back.`),
    );
  const start = () =>
    tell(remove.mutateAsync({ name: item.name, expected: item.commit_id }), () =>
      notifyUndo(`The ${item.type} ${item.name} was removed. Its commits stay.`, bringBack),
    );
  const label = `Remove the ${item.type} ${item.name}`;
  return (
    <Tooltip label={label}>
      <ActionIcon variant="default" aria-label={label} loading={remove.isPending} onClick={start}>
        <IconTrash size={16} />
      </ActionIcon>
    </Tooltip>
  );
}

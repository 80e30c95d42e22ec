import { ActionIcon, Button, Group, Table, TextInput, Tooltip } from "@mantine/core";
import { IconPlus, IconX } from "@tabler/icons-react";
import { useState } from "react";
import { useChangeRun } from "../../../api/runs";
import { useMay } from "../../../api/session";
import type { RunDetails } from "../../../api/shapes";
import { tell } from "../../../components/notify";
import { Section } from "../../../components/Section";
import { FilteredRows } from "./FilteredRows";
import { ownTags } from "./tagNames";

/** Tags of a run, to add to and to remove from; those that tools keep for themselves are elsewhere on the page. */
export function Tags({ run }: { run: RunDetails }) {
  const may = useMay(run.project, "member");
  const change = useChangeRun({ project: run.project, run: run.id });
  const [adding, setAdding] = useState(false);
  const put = (tags: Record<string, string | null>) => tell(change.mutateAsync({ tags }));
  return (
    <Section
      title="Tags"
      actions={
        may && (
          <Button
            variant="subtle"
            size="compact-sm"
            leftSection={<IconPlus size={14} aria-hidden />}
            onClick={() => setAdding(!adding)}
            aria-expanded={adding}
          >
            Add a tag
          </Button>
        )
      }
    >
      {adding && <NewTag onAdd={(key, value) => put({ [key]: value })} />}
      <FilteredRows label="Tags" names={ownTags(run.tags)} empty="No tags.">
        {(name) => (
          <Table.Tr key={name}>
            <Table.Th scope="row" w="40%" fw={500} style={{ overflowWrap: "anywhere" }}>
              {name}
            </Table.Th>
            <Table.Td style={{ overflowWrap: "anywhere" }}>{run.tags[name]}</Table.Td>
            {may && (
              <Table.Td w={40}>
                <Tooltip label="Remove the tag">
                  <ActionIcon
                    variant="subtle"
                    color="gray"
                    size="sm"
                    aria-label={`Remove tag ${name}`}
                    onClick={() => put({ [name]: null })}
                  >
                    <IconX size={14} aria-hidden />
                  </ActionIcon>
                </Tooltip>
              </Table.Td>
            )}
          </Table.Tr>
        )}
      </FilteredRows>
    </Section>
  );
}

function NewTag({ onAdd }: { onAdd: (key: string, value: string) => void }) {
  const [key, setKey] = useState("");
  const [value, setValue] = useState("");
  const add = (event: React.FormEvent) => {
    event.preventDefault();
    if (!key.trim()) return;
    onAdd(key.trim(), value);
    setKey("");
    setValue("");
  };
  return (
    <form onSubmit={add}>
      <Group gap="xs" p="xs" wrap="nowrap">
        <TextInput
          size="xs"
          aria-label="Tag"
          placeholder="tag"
          autoFocus
          maxLength={250}
          value={key}
          onChange={(event) => setKey(event.currentTarget.value)}
        />
        <TextInput
          size="xs"
          aria-label="Value of the tag"
          placeholder="value"
          value={value}
          onChange={(event) => setValue(event.currentTarget.value)}
          style={{ flexGrow: 1 }}
        />
        <Button size="xs" type="submit" disabled={!key.trim()}>
          Add
        </Button>
      </Group>
    </form>
  );
}

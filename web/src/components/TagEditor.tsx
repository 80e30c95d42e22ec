import { ActionIcon, Button, Group, Table, TextInput, Tooltip } from "@mantine/core";
import { IconPlus, IconX } from "@tabler/icons-react";
import { useState } from "react";
import { FilteredRows } from "../pages/Run/parts/FilteredRows";
import { Section } from "./Section";

interface Props {
  tags: Readonly<Record<string, string>>;
  /** Those that are shown, in order; all without it. */
  names?: readonly string[];
  /** The viewer may change them. */
  may: boolean;
  /** A tag of null is removed. */
  onPut: (tags: Record<string, string | null>) => void;
}

/** Tags of a noun, to add to and to remove from. */
export function TagEditor({ tags, names = Object.keys(tags).sort(), may, onPut }: Props) {
  const [adding, setAdding] = useState(false);
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
      {adding && <NewTag onAdd={(key, value) => onPut({ [key]: value })} />}
      <FilteredRows label="Tags" names={names} empty="No tags.">
        {(name) => (
          <Table.Tr key={name}>
            <Table.Th scope="row" w="40%" fw={500} style={{ overflowWrap: "anywhere" }}>
              {name}
            </Table.Th>
            <Table.Td style={{ overflowWrap: "anywhere" }}>{tags[name]}</Table.Td>
            {may && (
              <Table.Td w={40}>
                <Tooltip label="Remove the tag">
                  <ActionIcon
                    variant="subtle"
                    color="gray"
                    size="sm"
                    aria-label={`Remove tag ${name}`}
                    onClick={() => onPut({ [name]: null })}
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

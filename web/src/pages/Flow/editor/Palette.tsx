/** What a flow is made of, to drag onto the canvas; a click or Enter adds it, too. */
import { NavLink, ScrollArea, Stack, Text, TextInput } from "@mantine/core";
import { IconCode, IconDatabase, IconPackage, IconSearch, IconUserCheck } from "@tabler/icons-react";
import { type ReactNode, useState } from "react";
import type { LibraryComponent } from "../../../api/shapes";
import { byCategory, type PaletteItem, writeDrag } from "./paletteItems";

interface Props {
  library: readonly LibraryComponent[];
  datasets: readonly string[];
  onAdd: (item: PaletteItem) => void;
}

const CATEGORIES: Readonly<Record<string, string>> = {
  algorithm: "Algorithms",
  deploy: "Deploy",
  evaluate: "Evaluate",
  register: "Register",
  script: "Scripts",
  transform: "Transform",
  "data-source": "Data sources",
};

export function Palette({ library, datasets, onAdd }: Props) {
  const [words, setWords] = useState("");
  const found = (text: string) => text.toLowerCase().includes(words.trim().toLowerCase());
  const components = library.filter((one) => found(`${one.name} ${one.title} ${one.category}`));
  return (
    <Stack gap="xs" className="flow-palette">
      <TextInput
        size="xs"
        placeholder="Filter"
        aria-label="Filter the palette"
        leftSection={<IconSearch size={14} />}
        value={words}
        onChange={(event) => setWords(event.currentTarget.value)}
      />
      <ScrollArea.Autosize mah="100%" offsetScrollbars type="auto">
        <Group title="Datasets" empty={datasets.length === 0 ? "No datasets in this project." : undefined}>
          {datasets.filter(found).map((dataset) => (
            <Item
              key={dataset}
              item={{ kind: "dataset", dataset }}
              label={dataset}
              icon={IconDatabase}
              onAdd={onAdd}
            />
          ))}
        </Group>
        {byCategory(components).map(([category, items]) => (
          <Group key={category} title={CATEGORIES[category] ?? category}>
            {items.map(({ name, version, title, description }) => (
              <Item
                key={name}
                item={{ kind: "component", name, version }}
                label={title || name}
                below={`${name}@${version}`}
                help={description}
                icon={IconPackage}
                onAdd={onAdd}
              />
            ))}
          </Group>
        ))}
        <Group title="Custom">
          {found("command script") && (
            <Item
              item={{ kind: "command" }}
              label="Command"
              help="Run a script of your own."
              icon={IconCode}
              onAdd={onAdd}
            />
          )}
          {found("approval gate") && (
            <Item
              item={{ kind: "approval" }}
              label="Approval"
              help="Wait until somebody approves."
              icon={IconUserCheck}
              onAdd={onAdd}
            />
          )}
        </Group>
      </ScrollArea.Autosize>
    </Stack>
  );
}

function Group({ title, empty, children }: { title: string; empty?: string; children: ReactNode }) {
  return (
    <div>
      <Text size="xs" fw={600} c="dimmed" tt="uppercase" mt="sm" mb={2}>
        {title}
      </Text>
      {empty && (
        <Text size="xs" c="dimmed">
          {empty}
        </Text>
      )}
      {children}
    </div>
  );
}

interface ItemProps {
  item: PaletteItem;
  label: string;
  below?: string;
  help?: string;
  icon: typeof IconCode;
  onAdd: (item: PaletteItem) => void;
}

function Item({ item, label, below, help, icon: Picture, onAdd }: ItemProps) {
  return (
    <NavLink
      component="button"
      type="button"
      draggable
      onDragStart={(event) => writeDrag(event.dataTransfer, item)}
      onClick={() => onAdd(item)}
      label={label}
      description={below}
      title={help}
      aria-label={`Add ${label}`}
      leftSection={<Picture size={16} aria-hidden />}
      px={6}
      py={4}
      style={{ borderRadius: "var(--mantine-radius-sm)" }}
    />
  );
}

/** What a flow is made of, to drag onto the canvas; a click or Enter adds it, too. */
import { ScrollArea, Stack, Text, TextInput, UnstyledButton, VisuallyHidden } from "@mantine/core";
import {
  IconCode,
  IconCopy,
  IconDatabase,
  IconHelpHexagon,
  IconPackage,
  IconSearch,
  IconUserCheck,
} from "@tabler/icons-react";
import { type ReactNode, useState } from "react";
import type { LibraryComponent } from "../../../api/shapes";
import { categoryWords } from "../../Library/categories";
import { byCategory, type PaletteItem, writeDrag } from "./paletteItems";

interface Props {
  library: readonly LibraryComponent[];
  datasets: readonly string[];
  onAdd: (item: PaletteItem) => void;
}

/** More datasets than this are found by the filter. */
const DATASETS_SHOWN = 8;

export function Palette({ library, datasets, onAdd }: Props) {
  const [words, setWords] = useState("");
  const found = (text: string) => text.toLowerCase().includes(words.trim().toLowerCase());
  const components = library.filter((one) => found(`${one.name} ${one.title} ${one.category}`));
  const data = datasets.filter(found);
  const hasOwn = {
    command: found("command script custom"),
    approval: found("approval gate"),
    condition: found("condition if when"),
    list: found("run over a list each grid fan-out"),
  };
  return (
    <Stack gap={4} className="flow-palette" component="nav" aria-label="Palette">
      <TextInput
        size="xs"
        placeholder="Filter"
        aria-label="Filter the palette"
        leftSection={<IconSearch size={14} />}
        value={words}
        onChange={(event) => setWords(event.currentTarget.value)}
      />
      <ScrollArea.Autosize
        mah="100%"
        offsetScrollbars="y"
        scrollbarSize={8}
        type="auto"
        className="flow-palette-list"
      >
        <Group title="Datasets" isShown={data.length > 0 || words === ""}>
          {datasets.length === 0 && <Note>No datasets in this project yet.</Note>}
          {data.slice(0, DATASETS_SHOWN).map((dataset) => (
            <Item
              key={dataset}
              item={{ kind: "dataset", dataset }}
              label={dataset}
              icon={IconDatabase}
              onAdd={onAdd}
            />
          ))}
          {data.length > DATASETS_SHOWN && <Note>{data.length - DATASETS_SHOWN} more: use the filter.</Note>}
        </Group>
        <Group title="Your own" isShown={hasOwn.command || hasOwn.approval}>
          {hasOwn.command && (
            <Item
              item={{ kind: "command" }}
              label="Command"
              below="a shell line or a script"
              help="Run a command or a script of your own."
              icon={IconCode}
              onAdd={onAdd}
            />
          )}
          {hasOwn.approval && (
            <Item
              item={{ kind: "approval" }}
              label="Approval"
              below="wait until somebody agrees"
              help="Wait until somebody approves."
              icon={IconUserCheck}
              onAdd={onAdd}
            />
          )}
        </Group>
        <Group title="Conditions" isShown={hasOwn.condition || hasOwn.list}>
          {hasOwn.condition && (
            <Item
              item={{ kind: "option", option: "condition" }}
              label="Condition"
              below="drop it on a step"
              help="Run a step only if a comparison of values is true."
              icon={IconHelpHexagon}
              onAdd={onAdd}
            />
          )}
          {hasOwn.list && (
            <Item
              item={{ kind: "option", option: "list" }}
              label="Run over a list"
              below="drop it on a step"
              help="Run a step once for each value of a list or a grid."
              icon={IconCopy}
              onAdd={onAdd}
            />
          )}
        </Group>
        {byCategory(components).map(([category, items]) => (
          <Group key={category} title={categoryWords(category)} isShown>
            {items.map(({ name, version, title, description }) => (
              <Item
                key={name}
                item={{ kind: "component", name, version }}
                label={title || name}
                below={name}
                help={description}
                icon={IconPackage}
                onAdd={onAdd}
              />
            ))}
          </Group>
        ))}
        {words && data.length + components.length === 0 && !Object.values(hasOwn).includes(true) && (
          <Note>Nothing matches.</Note>
        )}
      </ScrollArea.Autosize>
    </Stack>
  );
}

function Group({ title, isShown, children }: { title: string; isShown: boolean; children: ReactNode }) {
  if (!isShown) return null;
  return (
    <section aria-label={title}>
      <Text size="xs" fw={600} c="dimmed" tt="uppercase" mt="sm" mb={2}>
        {title}
      </Text>
      {children}
    </section>
  );
}

function Note({ children }: { children: ReactNode }) {
  return (
    <Text size="xs" c="dimmed" py={4}>
      {children}
    </Text>
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
    <UnstyledButton
      draggable
      className="flow-palette-item"
      onDragStart={(event) => writeDrag(event.dataTransfer, item)}
      onClick={() => onAdd(item)}
      title={help}
    >
      <Picture size={16} aria-hidden />
      <div>
        <Text size="sm" lh={1.3}>
          <VisuallyHidden>Add </VisuallyHidden>
          {label}
        </Text>
        {below && (
          <Text size="xs" c="dimmed" lh={1.3}>
            {below}
          </Text>
        )}
      </div>
    </UnstyledButton>
  );
}

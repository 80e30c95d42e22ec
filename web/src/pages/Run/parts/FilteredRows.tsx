import { Box, Button, ScrollArea, Table, Text, TextInput } from "@mantine/core";
import { IconSearch } from "@tabler/icons-react";
import { type ReactNode, useState } from "react";

/** From so many on, a field narrows them; and no more are drawn until somebody asks. */
const MANY = 12;
const DRAWN = 100;

interface Props {
  label: string;
  names: readonly string[];
  empty: string;
  head?: ReactNode;
  children: (name: string) => ReactNode;
}

/** A table with a row for each name, usable with one name and with thousands. */
export function FilteredRows({ label, names, empty, head, children }: Props) {
  const [filter, setFilter] = useState("");
  const [all, setAll] = useState(false);
  if (names.length === 0) {
    return (
      <Text p="sm" size="sm" c="dimmed">
        {empty}
      </Text>
    );
  }
  const found = names.filter((name) => name.toLowerCase().includes(filter.toLowerCase()));
  const drawn = all ? found : found.slice(0, DRAWN);
  return (
    <>
      {names.length > MANY && (
        <Box p="xs">
          <TextInput
            size="xs"
            type="search"
            aria-label={`Filter ${label.toLowerCase()}`}
            placeholder={`Filter ${names.length.toLocaleString("en")} ${label.toLowerCase()}`}
            leftSection={<IconSearch size={14} aria-hidden />}
            value={filter}
            onChange={(event) => setFilter(event.currentTarget.value)}
          />
        </Box>
      )}
      <ScrollArea.Autosize mah={420} viewportProps={{ tabIndex: 0, "aria-label": label }}>
        <Table aria-label={label} verticalSpacing={5} fz="sm">
          {head}
          <Table.Tbody>{drawn.map(children)}</Table.Tbody>
        </Table>
      </ScrollArea.Autosize>
      {found.length === 0 && (
        <Text p="sm" size="sm" c="dimmed">
          No match.
        </Text>
      )}
      {drawn.length < found.length && (
        <Button variant="subtle" size="xs" m="xs" onClick={() => setAll(true)}>
          Show all {found.length.toLocaleString("en")}
        </Button>
      )}
    </>
  );
}

import { ActionIcon, Box, Group, SimpleGrid, Text, TextInput, Tooltip } from "@mantine/core";
import { IconArrowBackUp, IconSearch } from "@tabler/icons-react";
import { useState } from "react";
import type { RerunParam } from "../../../api/shapes";
import { Section } from "../../../components/Section";
import { type Changes, withParam, writtenValue } from "./changes";

const MANY = 12;
/** How a parameter reaches the script. */
const PLACES: Record<RerunParam["place"], string> = {
  argument: "argument of the command",
  variable: "environment variable",
  params: "in MILL_PARAMS: only scripts that read run.params see a change",
};

interface Props {
  params: RerunParam[];
  changes: Changes;
  onChange: (changes: Changes) => void;
}

/** Every parameter as a field with the value it had. */
export function AgainParams({ params, changes, onChange }: Props) {
  const [filter, setFilter] = useState("");
  const shown = params.filter(({ key }) => key.toLowerCase().includes(filter.toLowerCase()));
  if (params.length === 0) {
    return (
      <Text size="sm" c="dimmed">
        The run reported no parameters.
      </Text>
    );
  }
  const search = params.length > MANY && (
    <TextInput
      size="xs"
      type="search"
      aria-label="Filter parameters"
      placeholder={`Filter ${params.length} parameters`}
      leftSection={<IconSearch size={14} aria-hidden />}
      value={filter}
      onChange={(event) => setFilter(event.currentTarget.value)}
    />
  );
  return (
    <Section title="Parameters" bare actions={search}>
      <Box mah={320} style={{ overflowY: "auto" }}>
        <SimpleGrid cols={{ base: 1, xs: 2, sm: 3 }} verticalSpacing="xs" pb={4}>
          {shown.map((param) => (
            <Field key={param.key} param={param} changes={changes} onChange={onChange} />
          ))}
        </SimpleGrid>
      </Box>
    </Section>
  );
}

function Field({ param, changes, onChange }: Omit<Props, "params"> & { param: RerunParam }) {
  const before = writtenValue(param);
  const changed = changes.params[param.key];
  const set = (text: string) => onChange(withParam(changes, param, text));
  return (
    <TextInput
      label={param.key}
      labelProps={{ style: { overflowWrap: "anywhere" } }}
      description={changed === undefined ? undefined : `was ${before}`}
      inputWrapperOrder={["label", "input", "description"]}
      title={PLACES[param.place]}
      classNames={{ input: "mono" }}
      value={changed ?? before}
      onChange={(event) => set(event.currentTarget.value)}
      rightSection={
        changed !== undefined && (
          <Group>
            <Tooltip label="Back to what it was">
              <ActionIcon
                variant="subtle"
                color="gray"
                size="sm"
                aria-label={`Reset ${param.key}`}
                onClick={() => set(before)}
              >
                <IconArrowBackUp size={14} aria-hidden />
              </ActionIcon>
            </Tooltip>
          </Group>
        )
      }
    />
  );
}

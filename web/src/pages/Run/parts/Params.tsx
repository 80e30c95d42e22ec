import { Table, Text } from "@mantine/core";
import type { RunDetails } from "../../../api/shapes";
import { LongText } from "../../../components/LongText";
import { Section } from "../../../components/Section";
import { Time } from "../../../components/Time";
import { FilteredRows } from "./FilteredRows";

/** Parameters with the values they have, and those they had before. */
export function Params({ run }: { run: RunDetails }) {
  const names = Object.keys(run.params).sort();
  return (
    <Section title="Parameters">
      <FilteredRows
        label="Parameters"
        names={names}
        empty="No parameters. Report some with millpond.log_params(lr=0.1)."
      >
        {(name) => (
          <Table.Tr key={name}>
            <Table.Th scope="row" w="40%" fw={500} style={{ overflowWrap: "anywhere" }}>
              {name}
            </Table.Th>
            <Table.Td className="mono" style={{ overflowWrap: "anywhere" }}>
              <LongText text={written(run.params[name])} />
              <Before changes={run.param_changes?.[name] ?? []} />
            </Table.Td>
          </Table.Tr>
        )}
      </FilteredRows>
    </Section>
  );
}

type Change = NonNullable<RunDetails["param_changes"]>[string][number];

function Before({ changes }: { changes: Change[] }) {
  return changes.map((change) => (
    <Text key={change.until} size="xs" c="dimmed" component="div">
      was <LongText text={written(change.value)} /> until <Time at={change.until} />
    </Text>
  ));
}

export function written(value: unknown): string {
  return typeof value === "string" ? value : JSON.stringify(value);
}

import { Table } from "@mantine/core";
import { written } from "./Params";

/** Data that a script named itself, as MLflow's `log_input` does. */
export function ScriptInputs({ inputs }: { inputs: readonly Readonly<Record<string, unknown>>[] }) {
  return (
    <Table aria-label="Data named by the script" fz="sm">
      <Table.Thead>
        <Table.Tr>
          {["Name", "Digest", "Source"].map((word) => (
            <Table.Th key={word}>{word}</Table.Th>
          ))}
        </Table.Tr>
      </Table.Thead>
      <Table.Tbody>
        {inputs.map((input, index) => (
          <Table.Tr key={index}>
            {["name", "digest", "source"].map((key) => (
              <Table.Td
                key={key}
                className={key === "name" ? undefined : "mono"}
                style={{ overflowWrap: "anywhere" }}
              >
                {input[key] === undefined ? "–" : written(input[key])}
              </Table.Td>
            ))}
          </Table.Tr>
        ))}
      </Table.Tbody>
    </Table>
  );
}

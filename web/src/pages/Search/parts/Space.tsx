import { Table } from "@mantine/core";
import type { Search } from "../../../api/shapes";

/** The parameters that are tried, and the values or range of each. */
export function Space({ parameters }: { parameters: Search["parameters"] }) {
  return (
    <Table aria-label="Parameters" verticalSpacing={4} fz="sm" maw={720}>
      <Table.Thead>
        <Table.Tr>
          <Table.Th>Parameter</Table.Th>
          <Table.Th>Values</Table.Th>
          <Table.Th>Only if</Table.Th>
        </Table.Tr>
      </Table.Thead>
      <Table.Tbody>
        {parameters.map((parameter) => (
          <Table.Tr key={parameter.name}>
            <Table.Th scope="row" fw={500}>
              {parameter.name}
            </Table.Th>
            <Table.Td style={{ overflowWrap: "anywhere" }}>{valuesOf(parameter)}</Table.Td>
            <Table.Td>
              {Object.entries(parameter.when)
                .map(([name, values]) => `${name} is ${values.join(" or ")}`)
                .join(", ") || "–"}
            </Table.Td>
          </Table.Tr>
        ))}
      </Table.Tbody>
    </Table>
  );
}

function valuesOf({ values, min, max, log, step }: Search["parameters"][number]): string {
  if (values.length > 0) return values.map(String).join(", ");
  return `${min} to ${max}${log ? ", logarithmic" : ""}${step != null ? `, in steps of ${step}` : ""}`;
}

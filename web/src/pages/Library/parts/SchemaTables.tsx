/** The schema of a component as tables. */
import { Table, Text } from "@mantine/core";
import type { ReactNode } from "react";
import type { ComponentParam, ComponentPort } from "../../../api/shapes";
import { Section } from "../../../components/Section";
import { writeValue } from "../../Flow/editor/inspector/values";

export function ParamTable({ params }: { params: readonly ComponentParam[] }) {
  if (params.length === 0) return null;
  return (
    <Section title="Parameters">
      <Scrolled label="Parameters" heads={["Name", "Type", "Default", "Allowed", "Meaning"]}>
        {params.map((param) => (
          <Table.Tr key={param.name}>
            <Table.Td className="mono">{param.name}</Table.Td>
            <Table.Td>{param.type}</Table.Td>
            <Table.Td>{param.required ? <b>required</b> : writeValue(param.default) || "–"}</Table.Td>
            <Table.Td>{allowed(param)}</Table.Td>
            <Table.Td>{param.help}</Table.Td>
          </Table.Tr>
        ))}
      </Scrolled>
    </Section>
  );
}

export function PortTable({
  title,
  ports,
}: {
  title: "Inputs" | "Outputs";
  ports: readonly ComponentPort[];
}) {
  if (ports.length === 0) return null;
  return (
    <Section title={title}>
      <Scrolled label={title} heads={["Name", "Type", "", "Meaning"]}>
        {ports.map((port) => (
          <Table.Tr key={port.name}>
            <Table.Td className="mono">{port.name}</Table.Td>
            <Table.Td>{port.type}</Table.Td>
            <Table.Td>
              <Text size="sm" c="dimmed">
                {presence(title, port.required)}
              </Text>
            </Table.Td>
            <Table.Td>{port.help}</Table.Td>
          </Table.Tr>
        ))}
      </Scrolled>
    </Section>
  );
}

function presence(title: "Inputs" | "Outputs", isRequired: boolean): string {
  if (title === "Inputs") return isRequired ? "required" : "optional";
  return isRequired ? "always made" : "may be missing";
}

function allowed({ choices = [], min, max, exclusive_min }: ComponentParam): string {
  if (choices.length > 0) return choices.map(String).join(", ");
  const bounds = [min != null && `${exclusive_min ? ">" : "≥"} ${min}`, max != null && `≤ ${max}`];
  return bounds.filter(Boolean).join(", ");
}

function Scrolled(props: { label: string; heads: readonly string[]; children: ReactNode }) {
  return (
    <Table.ScrollContainer
      minWidth={640}
      scrollAreaProps={{ viewportProps: { tabIndex: 0, "aria-label": props.label } }}
    >
      <Table aria-label={props.label}>
        <Table.Thead>
          <Table.Tr>
            {props.heads.map((head) => (
              <Table.Th key={head} aria-label={head || "Required"}>
                {head}
              </Table.Th>
            ))}
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>{props.children}</Table.Tbody>
      </Table>
    </Table.ScrollContainer>
  );
}

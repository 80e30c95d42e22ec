import { Anchor, Table } from "@mantine/core";
import type { FlowRun } from "../../../api/shapes";
import { Duration } from "../../../components/Duration";
import { Status } from "../../../components/Status";
import { TextLink } from "../../../components/TextLink";

/** Every execution as a row. */
export function StepRuns({ run, onSelect }: { run: FlowRun; onSelect: (step: string) => void }) {
  return (
    <Table.ScrollContainer minWidth={640}>
      <Table aria-label="Steps of the run">
        <Table.Thead>
          <Table.Tr>
            {["Step", "State", "Reason", "Job", "Where", "Duration"].map((title) => (
              <Table.Th key={title}>{title}</Table.Th>
            ))}
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {run.steps.map((step) => (
            <Table.Tr key={`${step.name} ${step.index}`}>
              <Table.Td>
                <Anchor component="button" type="button" size="sm" onClick={() => onSelect(step.name)}>
                  {step.index === null ? step.name : `${step.name}[${step.index}]`}
                </Anchor>
              </Table.Td>
              <Table.Td>
                <Status state={step.state as never} />
              </Table.Td>
              <Table.Td>{step.reason}</Table.Td>
              <Table.Td>
                {step.job && (
                  <TextLink
                    to="/projects/$project/jobs/$job"
                    params={{ project: run.project, job: step.job }}
                    size="sm"
                  >
                    {step.job}
                  </TextLink>
                )}
              </Table.Td>
              <Table.Td>{[step.template, step.site].filter(Boolean).join(" at ")}</Table.Td>
              <Table.Td>
                <Duration start={step.started_at ?? null} end={step.ended_at ?? null} />
              </Table.Td>
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </Table.ScrollContainer>
  );
}

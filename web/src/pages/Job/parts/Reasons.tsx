import { Alert, List, Text } from "@mantine/core";
import { IconAlertTriangle, IconInfoCircle } from "@tabler/icons-react";
import type { Job } from "../../../api/shapes";
import { isFinished } from "./states";

/** Why a job is in its state: always while it waits, and whenever something went wrong. */
export function Reasons({ job }: { job: Job }) {
  const reasons = (isFinished(job.state) ? job.reasons.slice(-1) : job.reasons).filter(
    (reason) => reason !== job.problem,
  );
  if (job.state === "succeeded" || (reasons.length === 0 && !job.problem)) return null;
  const failed = job.state === "failed";
  const said = reasons.length > 0;
  const bySignal = job.signal !== null;
  return (
    <Alert
      color={failed ? "red" : "blue"}
      icon={failed ? <IconAlertTriangle /> : <IconInfoCircle />}
      title={job.problem ? `${failed ? "Failed: " : ""}${job.problem}` : `Why it is ${job.state}`}
      classNames={said || bySignal ? undefined : { title: "alone" }}
    >
      {(said || bySignal) && (
        <>
          {said && (
            <List size="sm" spacing={4}>
              {reasons.map((reason, index) => (
                <List.Item key={index}>{reason}</List.Item>
              ))}
            </List>
          )}
          {bySignal && <Text size="sm">Ended by signal {job.signal}.</Text>}
        </>
      )}
    </Alert>
  );
}

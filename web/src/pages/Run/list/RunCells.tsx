import { Text } from "@mantine/core";
import type { Run } from "../../../api/shapes";
import { Duration } from "../../../components/Duration";
import { Status } from "../../../components/Status";
import { TextLink } from "../../../components/TextLink";
import { useNow } from "../../../hooks/useNow";
import { formatMetric } from "../../../lib/metric";
import { formatAbsolute, formatRelative } from "../../../lib/time";
import { startOf } from "../parts/start";
import { cellOf, type Field } from "./fields";

export function RunLink({ run }: { run: Run }) {
  return (
    <TextLink
      to="/projects/$project/runs/$run"
      params={{ project: run.project, run: run.id }}
      size="sm"
      fw={600}
      truncate
      display="block"
      title={run.name}
    >
      {run.name}
    </TextLink>
  );
}

/** One value of a run. */
export function RunCell({ run, field }: { run: Run; field: Field }) {
  if (field.kind === "attributes") {
    if (field.key === "state") return <Status state={run.job_state ?? run.state} />;
    if (field.key === "started_at") return <When at={startOf(run)} />;
    if (field.key === "ended_at") return <When at={run.ended_at} />;
    if (field.key === "duration") return <Duration start={startOf(run)} end={run.ended_at} />;
  }
  return <Value value={cellOf(run, field)} />;
}

/** As `Time`, without a tooltip of its own: a page has hundreds. */
function When({ at }: { at: string | null | undefined }) {
  useNow(15_000);
  if (!at) return <Value value={null} />;
  const time = new Date(at);
  return (
    <time dateTime={at} title={formatAbsolute(time)}>
      {formatRelative(time, new Date())}
    </time>
  );
}

export function Value({ value }: { value: string | number | null }) {
  if (value === null)
    return (
      <Text span inherit c="dimmed">
        –
      </Text>
    );
  if (typeof value === "number") return <span className="number">{formatMetric(value)}</span>;
  return <span title={value.length > 24 ? value : undefined}>{value.slice(0, 300)}</span>;
}

import { ActionIcon, Text, UnstyledButton } from "@mantine/core";
import { IconChevronDown, IconChevronRight } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { type RunFilter, runPages } from "../../../api/runs";
import type { RunGroup } from "../../../api/shapes";
import { ErrorNotice } from "../../../components/ErrorNotice";
import { formatNumber } from "../../../lib/metric";
import { plural } from "../../../lib/quantity";
import { bothOf, type Field, writeField } from "./fields";
import { RunRow } from "./RunTable";

/** So many runs of a group are shown in place; the rest is a list of its own. */
const FEW = 20;

interface Props {
  group: RunGroup;
  filter: RunFilter;
  fields: readonly Field[];
  showsProject: boolean;
  /** Show the group as a list. */
  onShow: (filter: string) => void;
}

/** A group with its number of runs and its metrics; opened, its first runs below. */
export function GroupRows({ group, filter, fields, showsProject, onShow }: Props) {
  const [opened, setOpened] = useState(false);
  const words = group.value ?? "none";
  const condition = group.filter === null ? null : bothOf(filter.filter, group.filter);
  return (
    <>
      <tr className="run-group">
        <td className="run-name">
          <div className="run-name-inside">
            {condition && (
              <ActionIcon
                size={22}
                variant="subtle"
                color="gray"
                aria-label={opened ? `Close ${words}` : `Open ${words}`}
                aria-expanded={opened}
                onClick={() => setOpened(!opened)}
              >
                {opened ? <IconChevronDown size={16} /> : <IconChevronRight size={16} />}
              </ActionIcon>
            )}
            <Text
              span
              inherit
              truncate
              fw={600}
              title={words}
              c={group.value === null ? "dimmed" : undefined}
            >
              {words}
            </Text>
            <Text span size="xs" c="dimmed" className="unbroken">
              {plural(group.runs, "run")}
            </Text>
          </div>
        </td>
        {showsProject && <td />}
        {fields.map((field) => (
          <GroupCell key={writeField(field)} group={group} field={field} />
        ))}
      </tr>
      {opened && condition && (
        <Opened
          filter={{ ...filter, filter: condition }}
          fields={fields}
          showsProject={showsProject}
          total={group.runs}
          onShow={() => onShow(condition)}
        />
      )}
    </>
  );
}

/** The mean of a metric, with its least and greatest below. */
function GroupCell({ group, field }: { group: RunGroup; field: Field }) {
  const found = group.metrics?.[writeField(field)];
  if (!found) return <td />;
  return (
    <td data-number>
      <span className="number">{formatNumber(found.mean)}</span>
      <Text size="xs" c="dimmed" className="number unbroken" title="Least and greatest of the group">
        {formatNumber(found.min)} … {formatNumber(found.max)}
      </Text>
    </td>
  );
}

interface OpenedProps extends Omit<Props, "group" | "onShow"> {
  total: number;
  onShow: () => void;
}

function Opened({ filter, fields, showsProject, total, onShow }: OpenedProps) {
  const result = useQuery(runPages(filter, FEW)(undefined));
  const width = fields.length + (showsProject ? 2 : 1);
  if (result.isError) {
    return (
      <tr>
        <td colSpan={width}>
          <ErrorNotice error={result.error} />
        </td>
      </tr>
    );
  }
  return (
    <>
      {result.data?.items.map((run) => (
        <RunRow key={run.id} run={run} fields={fields} showsProject={showsProject} inner />
      ))}
      {total > FEW && (
        <tr>
          <td colSpan={width} data-inner>
            <UnstyledButton className="text-button" onClick={onShow}>
              Show all {total.toLocaleString("en")}
            </UnstyledButton>
          </td>
        </tr>
      )}
    </>
  );
}

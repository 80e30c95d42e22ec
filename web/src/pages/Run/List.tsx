import { Button, Group, Select, Switch, Text } from "@mantine/core";
import { IconFileTypeCsv, IconTimeline } from "@tabler/icons-react";
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { useMemo, useState } from "react";
import { ApiError } from "../../api/problem";
import { runCountQuery, runKeysQuery, someRuns } from "../../api/runs";
import { EmptyState } from "../../components/EmptyState";
import { notifyWarning, tell } from "../../components/notify";
import { PageHeader } from "../../components/PageHeader";
import { ProjectSelect } from "../../components/ProjectSelect";
import { WaitingRows } from "../../components/Waiting";
import { plural } from "../../lib/quantity";
import { NewJobButton } from "../Job/parts/NewJobButton";
import { ColumnPicker } from "./list/ColumnPicker";
import { csvOf, saveFile } from "./list/exporting";
import { FilterBox } from "./list/FilterBox";
import { defaultFields, type Field, readFields, writeFields, writeKey } from "./list/fields";
import { RunPages } from "./list/RunPages";
import { Views } from "./list/Views";
import type { RunListSearch } from "./search";

const route = getRouteApi("/in/runs");
/** A file with more is written by the command line. */
const MOST_EXPORTED = 10_000;

/** All runs: what is asked for, chosen and shown is in the address. */
export function RunList() {
  const { page, ...search } = route.useSearch();
  const navigate = route.useNavigate();
  const change = (part: Partial<RunListSearch>) =>
    void navigate({ search: { ...search, ...part }, replace: true });
  const { project, experiment, filter, deleted } = search;
  const keys = useQuery({
    ...runKeysQuery({ project, experiment, deleted }),
    placeholderData: keepPreviousData,
  });
  const count = useQuery(runCountQuery({ project, experiment, deleted, filter }));
  const fields = useMemo(
    () => (search.columns === undefined ? defaultFields(keys.data) : readFields(search.columns)),
    [search.columns, keys.data],
  );
  const setFields = (next: Field[] | undefined) =>
    change({ columns: next && (writeFields(next) || "state") });
  const wrong = isAboutFilter(count.error) ? count.error : null;
  const groups = groupsOf(keys.data, search.group);
  return (
    <>
      <PageHeader
        title="Runs"
        below={
          <Text size="sm" c="dimmed" aria-live="polite">
            {count.data === undefined || wrong ? "\u00a0" : plural(count.data, "run")}
          </Text>
        }
        actions={
          <>
            {project && (
              <Views
                project={project}
                search={search}
                columns={writeFields(fields)}
                onShow={(held, view) =>
                  void navigate({ search: { project, deleted, chosen: search.chosen, ...held, view } })
                }
              />
            )}
            <ColumnPicker fields={fields} keys={keys.data} onChange={setFields} />
            <ExportAll search={search} fields={fields} count={count.data ?? 0} />
            <NewJobButton project={project} />
          </>
        }
      />
      <Group mb="md" align="flex-start">
        <FilterBox
          value={filter ?? ""}
          keys={keys.data}
          error={wrong}
          onChange={(text) => change({ filter: text })}
        />
        <Select
          aria-label="Experiment"
          placeholder="Experiment"
          flex="0 1 180px"
          miw={140}
          searchable
          clearable
          clearButtonProps={{ "aria-label": "All experiments" }}
          data={optionsOf(keys.data?.experiments, experiment)}
          value={experiment ?? null}
          onChange={(value) => change({ experiment: value ?? undefined })}
        />
        <Select
          aria-label="Group by"
          placeholder="Group by"
          flex="0 1 180px"
          miw={140}
          searchable
          clearable
          clearButtonProps={{ "aria-label": "Do not group" }}
          limit={100}
          data={groups}
          value={search.group ?? null}
          onChange={(value) => change({ group: value ?? undefined })}
        />
        <ProjectSelect value={project} onChange={() => change({ project: undefined, view: undefined })} />
        <Switch
          label="Bin"
          mt={8}
          checked={!!deleted}
          onChange={(event) =>
            change({ deleted: event.currentTarget.checked || undefined, chosen: undefined })
          }
        />
      </Group>
      {search.columns === undefined && keys.isPending ? (
        <WaitingRows />
      ) : wrong ? (
        <Text size="sm">Correct the filter to see runs.</Text>
      ) : (
        <RunPages
          search={search}
          page={page}
          fields={fields}
          keys={keys.data}
          onSearch={change}
          onFields={setFields}
          onTurn={(number) => void navigate({ search: { ...search, page: number } })}
          empty={experiment || filter || deleted ? <Text>No matching runs.</Text> : <NoRuns />}
        />
      )}
    </>
  );
}

interface ExportProps {
  search: RunListSearch;
  fields: readonly Field[];
  count: number;
}

/** Everything that matches, as a file. */
function ExportAll({ search, fields, count }: ExportProps) {
  const [busy, setBusy] = useState(false);
  const { project, experiment, filter, sort, deleted } = search;
  const write = () => {
    setBusy(true);
    const asked = { project, experiment, filter, sort, deleted, columns: writeFields(fields) };
    void tell(someRuns(asked, MOST_EXPORTED), (runs) => {
      saveFile(`runs${project ? `-${project}` : ""}.csv`, csvOf(runs, fields));
      if (count > runs.length) {
        notifyWarning(
          `The first ${plural(runs.length, "run")} were written. For all, use: mill run export runs.csv`,
        );
      }
    }).finally(() => setBusy(false));
  };
  return (
    <Button
      variant="default"
      leftSection={<IconFileTypeCsv size={16} aria-hidden />}
      loading={busy}
      disabled={count === 0}
      onClick={write}
    >
      Export
    </Button>
  );
}

type Keys = { params: { key: string }[]; tags: { key: string }[] } | undefined;

function groupsOf(keys: Keys, chosen: string | undefined): string[] {
  const known = [
    "experiment",
    "state",
    "user",
    ...(keys?.params ?? []).map(({ key }) => `params.${writeKey(key)}`),
    ...(keys?.tags ?? []).map(({ key }) => `tags.${writeKey(key)}`),
  ];
  return optionsOf(known, chosen);
}

/** With the chosen one, also if no run has it any more. */
function optionsOf(known: readonly string[] | undefined, chosen: string | undefined): string[] {
  return [...new Set([...(known ?? []), ...(chosen ? [chosen] : [])])];
}

function isAboutFilter(error: unknown): boolean {
  return error instanceof ApiError && error.status === 400;
}

function NoRuns() {
  return (
    <EmptyState
      docs="experiments/"
      icon={IconTimeline}
      sentence="No runs yet. Every job records one; scripts and notebooks start their own with millpond.init()."
      command={"python -c \"import millpond; millpond.init(); millpond.log_metric('loss', 0.25, step=1)\""}
    />
  );
}

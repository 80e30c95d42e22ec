import type { ReactNode } from "react";
import { runGroupPages, runPages } from "../../../api/runs";
import type { Run, RunKeys } from "../../../api/shapes";
import { Pages } from "../../../components/Pages";
import type { RunListSearch } from "../search";
import { ChosenRuns } from "./chosen";
import { type Field, writeFields } from "./fields";
import { GroupRows } from "./GroupRows";
import { ChooseAll, RunRow, TableFrame } from "./RunTable";
import { SelectionBar } from "./SelectionBar";

interface Props {
  search: RunListSearch;
  page: number | undefined;
  fields: readonly Field[];
  keys: RunKeys | undefined;
  onSearch: (part: Partial<RunListSearch>) => void;
  onFields: (fields: Field[]) => void;
  onTurn: (page: number | undefined) => void;
  empty: ReactNode;
}

/** The table, a page of runs or of groups at a time, with what can be done with the selected runs above it. */
export function RunPages({ search, page, fields, keys, onSearch, onFields, onTurn, empty }: Props) {
  const { project, experiment, filter, sort, deleted, group } = search;
  const asked = { project, experiment, filter, sort, deleted, columns: writeFields(fields) };
  const common = { fields, showsProject: !project };
  const frame = {
    ...common,
    sort,
    onFields,
    onSort: (next: string | undefined) => onSearch({ sort: next }),
    onGroup: (by: string) => onSearch({ group: by }),
  };
  const list = `runs ${JSON.stringify([asked, group])}`;
  if (group) {
    return (
      <Chosen runs={[]} {...{ search, fields, keys, onSearch }}>
        <Pages
          list={list}
          query={runGroupPages(asked, group)}
          page={page}
          onTurn={onTurn}
          inOrder={false}
          empty={empty}
        >
          {(groups) => (
            <TableFrame label={`Runs by ${group}`} {...frame} first={null}>
              {groups.map((one) => (
                <GroupRows
                  key={one.value}
                  group={one}
                  filter={asked}
                  {...common}
                  onShow={(condition) => onSearch({ filter: condition, group: undefined })}
                />
              ))}
            </TableFrame>
          )}
        </Pages>
      </Chosen>
    );
  }
  return (
    <Pages list={list} query={runPages(asked)} page={page} onTurn={onTurn} inOrder={!sort} empty={empty}>
      {(runs) => (
        <Chosen runs={runs} {...{ search, fields, keys, onSearch }}>
          <TableFrame label="Runs" {...frame} first={<ChooseAll runs={runs} />}>
            {runs.map((run) => (
              <RunRow key={run.id} run={run} {...common} />
            ))}
          </TableFrame>
        </Chosen>
      )}
    </Pages>
  );
}

interface ChosenProps extends Pick<Props, "search" | "fields" | "keys" | "onSearch"> {
  /** Those in sight, which tell the project of the selected ones. */
  runs: readonly Run[];
  children: ReactNode;
}

function Chosen({ runs, search, fields, keys, onSearch, children }: ChosenProps) {
  const ids = search.chosen?.split(",") ?? [];
  const project = search.project ?? runs.find((run) => ids.includes(run.id))?.project;
  const choose = (next: string[]) => onSearch({ chosen: next.join(",") || undefined });
  return (
    <ChosenRuns value={{ ids, project, onChange: choose }}>
      <div>
        {ids.length > 0 && (
          <SelectionBar
            ids={ids}
            project={project}
            fields={fields}
            keys={keys}
            deleted={!!search.deleted}
            onNone={() => choose([])}
          />
        )}
        {children}
      </div>
    </ChosenRuns>
  );
}

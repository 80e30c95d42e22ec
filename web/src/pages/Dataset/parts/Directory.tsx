import { ActionIcon, Anchor, Group, Paper, Text, TextInput, Tooltip } from "@mantine/core";
import { IconLayoutGrid, IconList } from "@tabler/icons-react";
import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { type ReactNode, useMemo, useState } from "react";
import { commitQuery, entriesQuery, type FilePlace } from "../../../api/commits";
import { itemsOf } from "../../../api/paging";
import type { TreeEntry } from "../../../api/shapes";
import { ErrorNotice } from "../../../components/ErrorNotice";
import { Paged } from "../../../components/Paged";
import { WaitingRows } from "../../../components/Waiting";
import { useKeyboard } from "../../../hooks/useKeyboard";
import { readChoice, writeChoice } from "../../../lib/storage";
import { EntryTable } from "./EntryTable";
import { foldersFirst, isAlbum, isPicture, neighbour } from "./order";
import { Readme, readmeIn } from "./readme/Readme";
import { Thumbnails } from "./Thumbnails";

interface Props {
  place: FilePlace;
  selected: string | undefined;
  /** The branch that changes go to; null where what is shown cannot be changed. */
  branch: string | null;
  /** Only names from this one on. */
  from: string | undefined;
  onFrom: (name: string | undefined) => void;
  /** Preview this file, or none. */
  onShow: (file: string | undefined) => void;
}

/** The names in one directory. What a branch means is asked for again and again; what a commit holds, once. */
export function Directory(props: Props) {
  const { project, dataset, ref } = props.place;
  const commit = useQuery(commitQuery({ project, dataset, ref }));
  // Remembered for the next folder and the next visit; until somebody chooses, each folder decides.
  const [view, setView] = useState(() => readChoice("files.view"));
  const choose = (chosen: string) => {
    writeChoice("files.view", chosen);
    setView(chosen);
  };
  if (commit.data) return <Names {...props} commit={commit.data.id} view={view} onView={choose} />;
  if (commit.isError) return <ErrorNotice error={commit.error} retry={() => void commit.refetch()} />;
  return <WaitingRows />;
}

type NamesProps = Props & { commit: string; view: string | null; onView: (view: string) => void };

function Names({ place, selected, branch, from, onFrom, onShow, commit, view, onView }: NamesProps) {
  const result = useInfiniteQuery(entriesQuery({ ...place, ref: commit }, from));
  const isLong = result.hasNextPage || (result.data?.pages.length ?? 0) > 1 || from !== undefined;
  const entries = useMemo(() => foldersFirst(itemsOf(result.data)), [result.data]);
  const pictures = useMemo(() => entries.filter(isPicture), [entries]);
  const isGrid = pictures.length > 0 && (view ? view === "grid" : isAlbum(entries));
  const rows = isGrid ? entries.filter((entry) => !isPicture(entry)) : entries;
  usePreviewKeys(isGrid ? [...rows, ...pictures] : rows, selected, onShow);
  return (
    <>
      {(isLong || pictures.length > 0) && (
        <Group mb="xs" justify="space-between">
          {isLong ? <GoTo key={from} from={from} onFrom={onFrom} /> : <span />}
          {pictures.length > 0 && <ViewSwitch isGrid={isGrid} onView={onView} />}
        </Group>
      )}
      <Paper withBorder>
        <Paged
          result={result}
          empty={<Text p="md">{from ? `No names after ${from}.` : "This folder is empty."}</Text>}
        >
          {() => (
            <>
              {rows.length > 0 && (
                <EntryTable
                  {...{ entries: rows, place, branch, selected }}
                  isWhole={!result.hasNextPage && !from}
                  onEnd={() => {
                    if (result.hasNextPage && !result.isFetchingNextPage) void result.fetchNextPage();
                  }}
                />
              )}
              {isGrid && <Thumbnails {...{ pictures, place, commit, selected }} />}
            </>
          )}
        </Paged>
      </Paper>
      {!selected && result.data && <Described {...{ place, commit, entries }} isSearched={!isLong} />}
    </>
  );
}

/** The README of the folder. It is asked for by name where only some of the names are loaded. */
function Described(props: {
  place: FilePlace;
  commit: string;
  entries: TreeEntry[];
  isSearched: boolean;
}): ReactNode {
  const { place, commit, entries, isSearched } = props;
  const loaded = readmeIn(entries);
  const asked = useInfiniteQuery({
    ...entriesQuery({ ...place, ref: commit }, "README"),
    enabled: !isSearched && !loaded,
  });
  const found = loaded ?? readmeIn(itemsOf(asked.data));
  return found && <Readme place={place} commit={commit} path={found.path} />;
}

/** Left and right move to the file before and after the one that is previewed, Escape closes it. */
function usePreviewKeys(entries: TreeEntry[], selected: string | undefined, onShow: Props["onShow"]) {
  const bindings = useMemo(() => {
    const move = (step: 1 | -1) => () => {
      const next = selected && neighbour(entries, selected, step);
      if (next) onShow(next);
    };
    const close = () => onShow(undefined);
    return { ArrowLeft: move(-1), ArrowRight: move(1), Escape: close };
  }, [entries, selected, onShow]);
  useKeyboard(bindings, selected !== undefined);
}

function ViewSwitch({ isGrid, onView }: { isGrid: boolean; onView: (view: string) => void }) {
  return (
    <ActionIcon.Group ml="auto">
      {(["list", "grid"] as const).map((view) => {
        const isShown = isGrid === (view === "grid");
        const label = view === "grid" ? "Show images as thumbnails" : "Show images in the list";
        return (
          <Tooltip key={view} label={label}>
            <ActionIcon
              variant={isShown ? "light" : "default"}
              size="lg"
              aria-label={label}
              aria-pressed={isShown}
              onClick={() => onView(view)}
            >
              {view === "grid" ? <IconLayoutGrid size={17} /> : <IconList size={17} />}
            </ActionIcon>
          </Tooltip>
        );
      })}
    </ActionIcon.Group>
  );
}

/** In a directory of a hundred thousand names nobody scrolls to one. */
function GoTo({ from, onFrom }: Pick<Props, "from" | "onFrom">) {
  const [name, setName] = useState(from ?? "");
  return (
    <Group
      component="form"
      onSubmit={(event) => {
        event.preventDefault();
        onFrom(name || undefined);
      }}
    >
      <TextInput
        aria-label="Go to a name"
        placeholder="Go to a name or prefix"
        value={name}
        onChange={(event) => setName(event.currentTarget.value)}
        data-filter
        w={280}
      />
      {from && (
        <Anchor component="button" type="button" size="sm" onClick={() => onFrom(undefined)}>
          Show from the beginning
        </Anchor>
      )}
    </Group>
  );
}

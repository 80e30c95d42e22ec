import { Anchor, Group, Paper, Text, TextInput } from "@mantine/core";
import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { commitQuery, entriesQuery, type FilePlace } from "../../../api/commits";
import { ErrorNotice } from "../../../components/ErrorNotice";
import { Paged } from "../../../components/Paged";
import { WaitingRows } from "../../../components/Waiting";
import { EntryTable } from "./EntryTable";

interface Props {
  place: FilePlace;
  selected: string | undefined;
  /** The branch that changes go to; null where what is shown cannot be changed. */
  branch: string | null;
  /** Only names from this one on. */
  from: string | undefined;
  onFrom: (name: string | undefined) => void;
}

/** The names in one directory. What a branch means is asked for again and again; what a commit holds, once. */
export function Directory(props: Props) {
  const { project, dataset, ref } = props.place;
  const commit = useQuery(commitQuery({ project, dataset, ref }));
  if (commit.data) return <Names {...props} commit={commit.data.id} />;
  if (commit.isError) return <ErrorNotice error={commit.error} retry={() => void commit.refetch()} />;
  return <WaitingRows />;
}

function Names({ place, selected, branch, from, onFrom, commit }: Props & { commit: string }) {
  const result = useInfiniteQuery(entriesQuery({ ...place, ref: commit }, from));
  const isLong = result.hasNextPage || (result.data?.pages.length ?? 0) > 1 || from !== undefined;
  return (
    <>
      {isLong && <GoTo key={from} from={from} onFrom={onFrom} />}
      <Paper withBorder>
        <Paged
          result={result}
          empty={<Text p="md">{from ? `No name comes after ${from}.` : "This directory is empty."}</Text>}
        >
          {(entries) => (
            <EntryTable
              {...{ entries, place, branch, selected }}
              isWhole={!result.hasNextPage && !from}
              onEnd={() => {
                if (result.hasNextPage && !result.isFetchingNextPage) void result.fetchNextPage();
              }}
            />
          )}
        </Paged>
      </Paper>
    </>
  );
}

/** In a directory of a hundred thousand names nobody scrolls to one. */
function GoTo({ from, onFrom }: Pick<Props, "from" | "onFrom">) {
  const [name, setName] = useState(from ?? "");
  return (
    <Group
      component="form"
      mb="xs"
      onSubmit={(event) => {
        event.preventDefault();
        onFrom(name || undefined);
      }}
    >
      <TextInput
        aria-label="Go to a name"
        placeholder="Go to a name, or how it begins"
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

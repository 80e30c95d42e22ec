import { Text } from "@mantine/core";
import { keepPreviousData, queryOptions, useQuery } from "@tanstack/react-query";
import { useState } from "react";
import type { FilePlace } from "../../../../api/commits";
import { readPart } from "../../../../api/files";
import { Loaded } from "../../../../components/Loaded";
import { formatBytes } from "../../../../lib/quantity";
import { delimiterOf, parseRows, typeOf } from "./csv";
import { Pager, Sheet } from "./Sheet";

const PAGE_ROWS = 100;
const MOST_COLUMNS = 200;
const FIRST_READ = 128 * 1024;
/** Rows so long that even this holds less than a page of them are shown as far as they were read. */
const MOST_READ = 4 * 1024 * 1024;

interface Sheets {
  header: string[];
  delimiter: string;
  /** Where the rows behind the header begin. */
  start: number;
}

/** A table as text, a hundred rows at a time: only the bytes of those rows are read. */
export function CsvPreview({ file }: { file: FilePlace }) {
  const head = useQuery(headQuery(file));
  return <Loaded result={head}>{(found) => <CsvRows file={file} head={found} />}</Loaded>;
}

function CsvRows({ file, head }: { file: FilePlace; head: Sheets }) {
  // Where each page up to this one begins: rows have no fixed length, so the way back must be remembered.
  const [starts, setStarts] = useState([head.start]);
  const start = starts.at(-1) ?? head.start;
  const result = useQuery({ ...rowsQuery(file, head, start), placeholderData: keepPreviousData });
  if (head.header.length === 0) return <Text size="sm">This file is empty.</Text>;
  return (
    <Loaded result={result}>
      {({ rows, next, size }) => {
        const columns = head.header.slice(0, MOST_COLUMNS).map((name, index) => ({
          name,
          type: typeOf(rows.map((row) => row[index] ?? "")),
        }));
        const first = (starts.length - 1) * PAGE_ROWS + 1;
        const more = head.header.length > MOST_COLUMNS ? ` The first ${MOST_COLUMNS} columns are shown.` : "";
        return (
          <>
            <Pager
              words={`${rangeOf(first, rows.length)} of a file of ${formatBytes(size)}.${more}`}
              back={starts.length > 1 ? () => setStarts(starts.slice(0, -1)) : undefined}
              on={next < size ? () => setStarts([...starts, next]) : undefined}
            />
            <Sheet label="Rows" columns={columns} rows={rows} first={first} />
          </>
        );
      }}
    </Loaded>
  );
}

function rangeOf(first: number, count: number): string {
  return count === 0
    ? "No rows"
    : `Rows ${first.toLocaleString("en")} to ${(first + count - 1).toLocaleString("en")}`;
}

const headQuery = (file: FilePlace) =>
  queryOptions({
    queryKey: ["file", file, "head"],
    queryFn: async ({ signal }): Promise<Sheets> => {
      const { bytes, size } = await readPart(file, 0, FIRST_READ, signal);
      const mark = bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf ? 3 : 0;
      const delimiter = delimiterOf(file.path, bytes.subarray(mark));
      const { rows, used } = parseRows(bytes.subarray(mark), delimiter, 1, bytes.length >= size);
      return { header: rows[0] ?? [], delimiter, start: mark + used };
    },
  });

const rowsQuery = (file: FilePlace, head: Sheets, start: number) =>
  queryOptions({
    queryKey: ["file", file, "rows", start],
    queryFn: async ({ signal }) => {
      for (let length = FIRST_READ; ; length *= 4) {
        const { bytes, size } = await readPart(file, start, start + length, signal);
        const isEnd = start + bytes.length >= size || length >= MOST_READ;
        const { rows, used } = parseRows(bytes, head.delimiter, PAGE_ROWS, isEnd);
        if (rows.length === PAGE_ROWS || isEnd) return { rows, next: start + used, size };
      }
    },
  });

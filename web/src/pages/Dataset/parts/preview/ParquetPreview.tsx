import { Text } from "@mantine/core";
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { useState } from "react";
import type { FilePlace } from "../../../../api/commits";
import { Loaded } from "../../../../components/Loaded";
import { formatBytes, plural } from "../../../../lib/quantity";
import {
  bytesOf,
  columnsWithin,
  openParquet,
  PAGE_BYTES,
  type ParquetFile,
  readParquet,
  writeValue,
} from "./parquet";
import { type Column, Pager, Sheet } from "./Sheet";

const PAGE_ROWS = 100;

/** The rows of a Parquet file, a hundred at a time, read by ranges of the file. */
export default function ParquetPreview({ file }: { file: FilePlace }) {
  const result = useQuery({
    queryKey: ["file", file, "parquet"],
    queryFn: () => openParquet(file),
    // It holds what it has read; nothing of it is worth keeping once the preview is closed.
    gcTime: 0,
    retry: false,
  });
  return <Loaded result={result}>{(opened) => <ParquetRows place={file} opened={opened} />}</Loaded>;
}

function ParquetRows({ place, opened }: { place: FilePlace; opened: ParquetFile }) {
  const [start, setStart] = useState(0);
  const end = Math.min(start + PAGE_ROWS, opened.rows);
  const columns = columnsWithin(opened.metadata, opened.columns, start, end);
  const cost = columns[0] ? bytesOf(opened.metadata, columns[0].name, start, end) : 0;
  const [agreed, setAgreed] = useState(false);
  const allowed = agreed || cost <= PAGE_BYTES;
  const result = useQuery({
    queryKey: ["file", place, "parquet", start],
    queryFn: () => readParquet(opened, columns, start, end),
    placeholderData: keepPreviousData,
    enabled: allowed && opened.rows > 0,
    gcTime: 0,
    retry: false,
  });
  if (opened.rows === 0) return <Empty opened={opened} />;
  if (!allowed) {
    return (
      <Text size="sm">
        One column of the first rows alone takes {formatBytes(cost)} to read.{" "}
        <button type="button" className="text-button" onClick={() => setAgreed(true)}>
          Read file
        </button>
      </Text>
    );
  }
  const left = opened.columns.length - columns.length;
  return (
    <Loaded result={result}>
      {(rows) => (
        <>
          <Pager
            words={
              `Rows ${number(start + 1)} to ${number(start + rows.length)} of ${number(opened.rows)}, ` +
              `${plural(opened.columns.length, "column")}${left > 0 ? ` (the first ${columns.length} are shown)` : ""}.`
            }
            back={start > 0 ? () => setStart(Math.max(start - PAGE_ROWS, 0)) : undefined}
            on={end < opened.rows ? () => setStart(end) : undefined}
          />
          <Sheet
            label="Rows"
            columns={columns}
            rows={rows.map((row) => row.map((value, index) => cell(value, columns[index])))}
            first={start + 1}
          />
        </>
      )}
    </Loaded>
  );
}

function Empty({ opened }: { opened: ParquetFile }) {
  return (
    <>
      <Sheet label="Columns" columns={opened.columns} rows={[]} first={1} />
      <Text size="sm" mt="xs">
        This file has no rows.
      </Text>
    </>
  );
}

function cell(value: unknown, column: Column | undefined) {
  return writeValue(value, column?.type ?? "") ?? <span className="preview-null">null</span>;
}

function number(value: number): string {
  return value.toLocaleString("en");
}

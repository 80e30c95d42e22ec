/** Parquet read in the browser: the footer says where things lie, and only what a page of rows needs is fetched. */
import {
  type AsyncBuffer,
  cachedAsyncBuffer,
  type FileMetaData,
  parquetMetadataAsync,
  parquetReadObjects,
  parquetSchema,
  type SchemaElement,
  type SchemaTree,
} from "hyparquet";
import { compressors } from "hyparquet-compressors";
import type { FilePlace } from "../../../../api/commits";
import { readPart } from "../../../../api/files";
import { ApiError } from "../../../../api/problem";
import type { Column } from "./Sheet";

/** Footers are rarely longer: then one request is enough. */
const FOOTER_READ = 256 * 1024;
/** What a page of rows may cost to fetch. Row groups are read whole, so columns are left out beyond this. */
export const PAGE_BYTES = 64 * 1024 * 1024;
const MOST_COLUMNS = 100;

export interface ParquetFile {
  file: AsyncBuffer;
  metadata: FileMetaData;
  columns: Column[];
  rows: number;
  size: number;
}

/** Throws an error that says so when the file is not Parquet, or in a way that cannot be read here. */
export async function openParquet(place: FilePlace): Promise<ParquetFile> {
  const end = await readPart(place, -FOOTER_READ);
  const file = cachedAsyncBuffer(bufferOf(place, end.bytes, end.size));
  const metadata = await parquetMetadataAsync(file, { initialFetchSize: FOOTER_READ }).catch(refuse);
  const columns = parquetSchema(metadata).children.map((child) => ({
    name: child.element.name,
    type: typeName(child),
  }));
  return { file, metadata, columns, rows: Number(metadata.num_rows), size: end.size };
}

function refuse(error: unknown): never {
  if (error instanceof ApiError) throw error;
  const reason = error instanceof Error ? error.message : String(error);
  throw new ApiError(
    `This file cannot be read as Parquet: ${reason}.`,
    0,
    "bad_format",
    "Download it instead.",
  );
}

/** The file as hyparquet reads it; its end has been read already. */
function bufferOf(place: FilePlace, end: Uint8Array<ArrayBuffer>, size: number): AsyncBuffer {
  const known = size - end.length;
  return {
    byteLength: size,
    slice: async (start, stop = size) => {
      if (start >= known) return end.slice(start - known, stop - known).buffer;
      return (await readPart(place, start, stop)).bytes.buffer;
    },
  };
}

/** As many of the first columns as a page of these rows may cost; always one. */
export function columnsWithin(
  metadata: FileMetaData,
  columns: Column[],
  start: number,
  end: number,
): Column[] {
  let cost = 0;
  const chosen = columns.slice(0, MOST_COLUMNS).findIndex((column) => {
    cost += bytesOf(metadata, column.name, start, end);
    return cost > PAGE_BYTES;
  });
  return columns.slice(0, chosen < 0 ? MOST_COLUMNS : Math.max(chosen, 1));
}

/** What one column of the row groups that hold these rows takes in the file. */
export function bytesOf(metadata: FileMetaData, column: string, start: number, end: number): number {
  let before = 0;
  let bytes = 0;
  for (const group of metadata.row_groups) {
    const behind = before + Number(group.num_rows);
    if (before < end && behind > start) {
      for (const { meta_data: chunk } of group.columns) {
        if (chunk?.path_in_schema[0] === column) bytes += Number(chunk.total_compressed_size);
      }
    }
    before = behind;
  }
  return bytes;
}

export async function readParquet(from: ParquetFile, columns: Column[], start: number, end: number) {
  const names = columns.map((column) => column.name);
  const read = {
    file: from.file,
    metadata: from.metadata,
    columns: names,
    compressors,
    useOffsetIndex: true,
  };
  const rows = await parquetReadObjects({ ...read, rowStart: start, rowEnd: end }).catch(refuse);
  return rows.map((row) => names.map((name) => row[name] as unknown));
}

function typeName({ element, children }: SchemaTree): string {
  if (element.converted_type === "LIST" || element.logical_type?.type === "LIST") {
    const item = children[0]?.children[0] ?? children[0];
    return item ? `list of ${typeName(item)}` : "list";
  }
  if (element.converted_type === "MAP" || element.logical_type?.type === "MAP") return "map";
  if (children.length > 0) return "struct";
  return scalarName(element);
}

function scalarName({
  type,
  converted_type: converted,
  logical_type: logical,
  type_length: length,
}: SchemaElement) {
  const named = (logical?.type ?? converted ?? type ?? "").toLowerCase();
  if (named === "utf8" || named === "string") return "text";
  if (named === "integer" && logical && "bitWidth" in logical) {
    return `${logical.isSigned ? "int" : "uint"}${logical.bitWidth}`;
  }
  if (named === "byte_array") return "binary";
  if (named === "fixed_len_byte_array") return `binary(${length})`;
  return named.replace(/_/g, " ");
}

/** A value of a column as text: bytes as digits, what has parts as JSON. Null stays null. */
export function writeValue(value: unknown, type: string): string | null {
  if (value === null || value === undefined) return null;
  if (value instanceof Date) return writeTime(value, type);
  if (value instanceof Uint8Array) return hexOf(value);
  if (typeof value === "object") return JSON.stringify(value, replacePart);
  return String(value);
}

function writeTime(value: Date, type: string): string {
  const [day, time = ""] = value.toISOString().split("T");
  return type === "date" ? `${day}` : `${day} ${time.replace(/(\.000)?Z$/, "")}`;
}

function replacePart(_key: string, value: unknown): unknown {
  if (typeof value === "bigint") return value.toString();
  return value instanceof Uint8Array ? hexOf(value) : value;
}

function hexOf(bytes: Uint8Array): string {
  const shown = Array.from(bytes.subarray(0, 32), (byte) => byte.toString(16).padStart(2, "0")).join("");
  return bytes.length > 32 ? `${shown}… (${bytes.length} bytes)` : shown;
}

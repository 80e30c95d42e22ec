import type { FileMetaData } from "hyparquet";
import { afterEach, expect, it, vi } from "vitest";
import { bytesOf, columnsWithin, openParquet, PAGE_BYTES, writeValue } from "./parquet";

afterEach(() => vi.unstubAllGlobals());

const metadata = {
  row_groups: [1, 2].map(() => ({
    num_rows: 1000n,
    columns: ["small", "large", "last"].map((name) => ({
      meta_data: {
        path_in_schema: [name],
        total_compressed_size: BigInt(name === "large" ? PAGE_BYTES : 10),
      },
    })),
  })),
} as unknown as FileMetaData;
const columns = ["small", "large", "last"].map((name) => ({ name, type: "text" }));

it("counts the row groups that hold the rows", () => {
  expect(bytesOf(metadata, "small", 0, 100)).toBe(10);
  expect(bytesOf(metadata, "small", 950, 1050)).toBe(20);
  expect(bytesOf(metadata, "small", 1000, 1100)).toBe(10);
});

it("leaves columns out that would cost too much, but never the first", () => {
  expect(columnsWithin(metadata, columns, 0, 100).map((column) => column.name)).toEqual(["small"]);
  expect(columnsWithin(metadata, columns.slice(1), 950, 1050)).toHaveLength(1);
  expect(columnsWithin(metadata, [columns[0], columns[2]] as typeof columns, 0, 100)).toHaveLength(2);
});

it.each([
  [null, "text", null],
  [9007199254740993n, "int64", "9007199254740993"],
  [new Date("2026-01-01T00:00:00Z"), "date", "2026-01-01"],
  [new Date("2026-01-01T00:00:00Z"), "timestamp", "2026-01-01 00:00:00"],
  [new Date("2026-01-01T00:00:00.250Z"), "timestamp", "2026-01-01 00:00:00.250"],
  [new Uint8Array([1, 255]), "binary", "01ff"],
  [{ a: 1n, b: [null, "x"] }, "struct", '{"a":"1","b":[null,"x"]}'],
])("writes %s of a column of type %s", (value, type, text) => {
  expect(writeValue(value, type)).toBe(text);
});

it.each(["not Parquet at all", ""])("says what is wrong with %j", async (content) => {
  const headers = { "Content-Range": `bytes 0-${content.length}/${content.length}` };
  vi.stubGlobal("fetch", async () => new Response(content, { status: content ? 206 : 416, headers }));
  const place = { project: "p", dataset: "d", ref: "r", path: "x.parquet" };
  await expect(openParquet(place)).rejects.toThrow(/cannot be read as Parquet: /);
});

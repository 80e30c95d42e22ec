import { describe, expect, it } from "vitest";
import { delimiterOf, parseRows, typeOf } from "./csv";

const bytes = (text: string) => new TextEncoder().encode(text);

describe("parseRows", () => {
  it("reads rows and says where the next one begins", () => {
    const data = bytes("a,b\n1,ü\n2,y\n");
    const first = parseRows(data, ",", 2, true);
    expect(first.rows).toEqual([
      ["a", "b"],
      ["1", "ü"],
    ]);
    expect(parseRows(data.subarray(first.used), ",", 9, true).rows).toEqual([["2", "y"]]);
  });

  it("keeps delimiters, quotes and newlines that stand in quotes", () => {
    const { rows } = parseRows(bytes('"a, b","say ""hi""",c\r\n"two\nlines",,""\n'), ",", 9, true);
    expect(rows).toEqual([
      ["a, b", 'say "hi"', "c"],
      ["two\nlines", "", ""],
    ]);
  });

  it("leaves a row alone that may go on, unless the file ends there", () => {
    expect(parseRows(bytes("a,b\n1,"), ",", 9, false)).toEqual({ rows: [["a", "b"]], used: 4 });
    expect(parseRows(bytes("a,b\n1,"), ",", 9, true).rows.at(-1)).toEqual(["1", ""]);
    expect(parseRows(bytes('"never closed\n1,2\n'), ",", 9, true).rows).toEqual([["never closed\n1,2\n"]]);
  });

  it("skips empty lines", () => {
    expect(parseRows(bytes("a\n\n\r\nb\n"), ",", 9, true).rows).toEqual([["a"], ["b"]]);
  });
});

it("finds what stands between fields", () => {
  expect(delimiterOf("x.csv", bytes("a;b;c\n1,5;2;3"))).toBe(";");
  expect(delimiterOf("x.csv", bytes('"a;b;c",d\n'))).toBe(",");
  expect(delimiterOf("x.tsv", bytes("a,b,c\n"))).toBe("\t");
  expect(delimiterOf("x.csv", bytes("alone"))).toBe(",");
});

it.each([
  [["1", "-2", ""], "integer"],
  [["1", "2.5", "1e-3", "NaN"], "number"],
  [["true", "False"], "boolean"],
  [["2026-01-01", "2026-02-01"], "date"],
  [["2026-01-01T12:00:00Z"], "time"],
  [["1", "x"], "text"],
  [["", ""], ""],
])("names the type of %j", (values, type) => {
  expect(typeOf(values)).toBe(type);
});

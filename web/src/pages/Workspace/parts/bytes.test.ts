import { expect, test } from "vitest";
import { readBytes } from "./bytes";

test.each([
  ["20GB", 20e9],
  ["1.5 TiB", 1.5 * 2 ** 40],
  ["500 M", 500e6],
  ["10Gi", 10 * 2 ** 30],
  ["42", 42],
])("%s is a size", (text, bytes) => expect(readBytes(text)).toBe(bytes));

test.each(["", "many", "20 XB", "-1GB", "1,5GB"])("%s is none", (text) => expect(readBytes(text)).toBeNull());

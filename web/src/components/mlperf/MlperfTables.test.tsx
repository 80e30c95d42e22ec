import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { queries } from "../../api/client";
import type { MlperfResult, MlperfTable } from "../../api/shapes";
import { showPage, signInAs } from "../../testing/page";
import { answering } from "../../testing/server";
import { MlperfTables } from "./MlperfTables";
import { detailWords, ratioWords, resultWords, setupWords } from "./words";

beforeEach(() => signInAs());

afterEach(() => {
  vi.unstubAllGlobals();
  queries.clear();
});

const result = (more: Partial<MlperfResult> = {}): MlperfResult => ({
  run: "run1",
  at: "2026-11-18T10:00:00Z",
  model: "chest@3",
  value: 1234.567,
  valid: true,
  reason: "",
  p99_ms: 4.5678,
  ready_seconds: 0.5,
  quality: null,
  official: false,
  ...more,
});

const OFFLINE: MlperfTable = {
  scenario: "offline",
  title: "Offline",
  unit: "samples/s",
  higher_is_better: true,
  setups: [
    { servers: 1, storage: "local", protocol: "http" },
    { servers: 2, storage: "shared", protocol: "grpc" },
  ],
  rows: [
    {
      task: "image-classification",
      title: "Image classification",
      model: "ResNet-50 v1.5",
      dataset: "ImageNet 224×224",
      results: [result(), result({ run: "run2", valid: false, reason: "too few queries" })],
      shared_to_local: 0.994,
      two_to_one: null,
    },
    {
      task: "language",
      title: "Language processing",
      model: "BERT",
      dataset: "SQuAD v1.1",
      results: [null, null],
      shared_to_local: null,
      two_to_one: null,
    },
  ],
  document: { shared_to_local: "minimal change or none", two_to_one: "twice, within 1 %" },
};

it("shows the document's tables, what was not run, and what the document found", async () => {
  answering({ "GET /projects/vision/mlperf": { measured: 2, tables: [OFFLINE] } });
  const page = await showPage(<MlperfTables project="vision" model="xray" />);
  const table = await page.findByRole("table", { name: "Offline, samples/s" });
  const headers = [...table.querySelectorAll("thead th")].map((one) => one.textContent);
  expect(headers).toEqual([
    "Task",
    "1 × local, HTTP",
    "2 × shared, gRPC",
    "Shared to local",
    "Two servers to one",
  ]);
  const row = page.getByRole("row", { name: /Image classification/ }).textContent ?? "";
  for (const said of ["ResNet-50 v1.5", "1,235", "INVALID", "chest@3", "0.99 ×"]) expect(row).toContain(said);
  expect(page.getByRole("row", { name: /Language/ }).textContent).toContain("not run");
  expect(page.getByRole("row", { name: /TR-4886/ }).textContent).toContain("twice, within 1 %");
  const [link] = page.getAllByRole("link", { name: "1,235" });
  expect(link?.getAttribute("href")).toBe("/projects/vision/runs/run1");
});

it("says how to measure where nothing was", async () => {
  answering({ "GET /projects/vision/mlperf": { measured: 0, tables: [] } });
  const page = await showPage(<MlperfTables project="vision" model="xray" />);
  expect(await page.findByText(/Nothing measured yet/)).toBeTruthy();
  expect(page.getByText(/mill perf mlperf xray/)).toBeTruthy();
});

it("puts results into words", () => {
  expect(setupWords({ servers: 1, storage: "as is", protocol: "http" })).toBe("1 × as is, HTTP");
  expect(resultWords(null)).toBe("not run");
  expect(resultWords(result({ value: null }))).toBe("–");
  expect(resultWords(result({ value: 0.001234567 }))).toBe("0.001235");
  expect(ratioWords(1.998)).toBe("2.00 ×");
  const words = detailWords(result({ valid: false, reason: "too few", quality: 0.991 }));
  expect(words).toBe(
    "INVALID, chest@3 · too few · 99th percentile 4.57 ms · ready in 0.50 s · quality 99.1 % of the reference · short run",
  );
});

import { fireEvent, screen, waitFor } from "@testing-library/react";
import { afterEach, expect, test, vi } from "vitest";
import { queries } from "../../../api/client";
import type { Schemas } from "../../../api/shapes";
import { aVersion } from "../../../testing/models";
import { showPage, signInAs } from "../../../testing/page";
import { answering } from "../../../testing/server";
import { VersionCheck } from "./VersionCheck";

afterEach(() => {
  queries.clear();
  vi.unstubAllGlobals();
});

const CHECK = "POST /projects/default/models/chest-xray/versions/3/check";
const PASSED: Schemas["ModelCheck"] = {
  state: "passed",
  job: "3fa2c1d0",
  by: "mary",
  at: "2026-05-01T12:00:00Z",
  error: null,
  backend: "onnxruntime",
  median_ms: 12.5,
  p95_ms: 14,
  load_ms: 130,
  runs: 50,
  memory: 50_000_000,
  peak_memory: 120_000_000,
  inputs: [],
  outputs: [],
  python: "3.11.7",
  packages: { onnxruntime: "1.31.1" },
};

test("a version that was never checked is checked by a button", async () => {
  const server = answering({ [CHECK]: aVersion({ check: { ...PASSED, state: "running" } }) });
  signInAs();
  await showPage(<VersionCheck version={aVersion({ check: null })} />);
  screen.getByText(/Never checked/);
  fireEvent.click(screen.getByRole("button", { name: "Check" }));
  await waitFor(async () => expect(await server.changes()).toEqual([[CHECK, { environment: true }]]));
});

test("what was measured is shown, and why a check failed", async () => {
  answering({});
  signInAs();
  await showPage(<VersionCheck version={aVersion({ check: PASSED })} />);
  screen.getByText("12.5 ms");
  screen.getByText("Python 3.11.7, onnxruntime 1.31.1");
  screen.getByRole("button", { name: "Check again" });
  await showPage(
    <VersionCheck version={aVersion({ check: { ...PASSED, state: "failed", error: "no weights" } })} />,
  );
  screen.getByText("no weights");
});

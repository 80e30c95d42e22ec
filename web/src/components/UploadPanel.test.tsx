import { expect, it, vi } from "vitest";
import * as hooks from "../hooks/useUploads";
import type { UploadState } from "../lib/upload/uploads";
import { showPage, signInAs } from "../testing/page";
import { UploadPanel } from "./UploadPanel";

const upload: UploadState = {
  id: "u1",
  by: "mary",
  project: "default",
  dataset: "digits",
  branch: "main",
  into: "",
  keepFolder: true,
  message: "Upload",
  files: 3000,
  bytes: 100_000_000,
  at: "2026-11-15T12:00:00Z",
  phase: "sending",
  away: false,
  progress: { files: 1200, bytes: 40_000_000, sent: 30_000_000 },
  samples: [
    { at: 0, bytes: 20_000_000 },
    { at: 2000, bytes: 40_000_000 },
  ],
  failure: null,
  commit: null,
};

function show(part: Partial<UploadState> = {}) {
  signInAs();
  vi.spyOn(hooks, "useUploads").mockReturnValue([{ ...upload, ...part }]);
  return showPage(<UploadPanel />);
}

it("says how far it is, how fast, and how long it takes", async () => {
  const page = await show();
  const numbers = page.getByTestId("upload-numbers").textContent;
  expect(numbers).toBe("1,200 of 3,000 files · 40.0 MB of 100.0 MB · 10.0 MB/s · 6 s left");
});

it("promises no time while the server is away", async () => {
  const page = await show({ away: true });
  expect(page.getByRole("status").textContent).toContain("resumes automatically");
  expect(page.getByTestId("upload-numbers").textContent).not.toContain("left");
});

it("offers to go on after a failure", async () => {
  const failure = {
    message: "You are not signed in.",
    hint: "Sign in.",
    code: "not_signed_in",
    requestId: "r1",
  };
  const page = await show({ phase: "failed", failure });
  expect(page.getByRole("alert").textContent).toContain("Nothing was committed. 40.0 MB arrived");
  expect(page.getByRole("button", { name: "Go on" })).toBeTruthy();
});

it("tells how little had to be sent", async () => {
  const progress = { files: 3000, bytes: 100_000_000, sent: 1_000_000 };
  const page = await show({ phase: "done", commit: "c".repeat(64), progress });
  expect(page.getByRole("status").textContent).toBe(
    "Committed: 3,000 files, 100.0 MB. 1.0 MB were sent: the rest was there already.",
  );
});

it("is nobody else's to see", async () => {
  const page = await show({ by: "dan" });
  expect(page.queryByTestId("upload")).toBeNull();
});

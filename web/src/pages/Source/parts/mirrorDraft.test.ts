import { expect, test } from "vitest";
import { describeLag, describeMirrored, EMPTY_MIRROR, mirrorCommand, mirrorOf } from "./mirrorDraft";

const BUCKET = { ...EMPTY_MIRROR, dataset: "scans", connection: "archive", uri: "s3://archive/a b" };
const SITE = {
  ...EMPTY_MIRROR,
  from: "workspace",
  workspace: "lab",
  label: "daily",
  to: "site",
  site: "b",
} as const;

test("what the form does not show is not sent", () => {
  expect(mirrorOf({ ...BUCKET, label: "daily", site: "b" })).toEqual({
    source: "dataset:scans@main",
    target: "s3://archive/a b",
    connection: "archive",
    label: "",
    every_seconds: 3600,
  });
  expect(mirrorOf({ ...SITE, connection: "archive" })).toEqual({
    source: "workspace:lab",
    target: "b",
    connection: null,
    label: "daily",
    every_seconds: 3600,
  });
});

test("the form shows the command line that does the same", () => {
  expect(mirrorCommand("default", BUCKET)).toBe(
    "mill mirror add dataset:scans@main 's3://archive/a b' -p default --every 3600s --connection archive",
  );
  expect(mirrorCommand("default", SITE)).toBe(
    "mill mirror add workspace:lab b -p default --every 3600s --label daily",
  );
  expect(mirrorCommand("default", EMPTY_MIRROR)).toBe("mill mirror add FROM TO -p default --every 3600s");
});

test("lag and results in words", () => {
  expect(describeLag(null)).toBe("not counted yet");
  expect(describeLag({ commits: 0, bytes: 0, seconds: 0 })).toBe("up to date");
  expect(describeLag({ commits: 2, bytes: 1_500_000, seconds: 90 })).toBe("2 commits · 1.5 MB · 1 m 30 s");
  const nothing = { copied: 0, copied_bytes: 0, unchanged: 600_000, removed: 0 };
  expect(describeMirrored({ ...nothing, dry_run: false } as never)).toBe("nothing new");
  expect(describeMirrored({ ...nothing, copied: 1200, copied_bytes: 5, failed_count: 1 } as never)).toBe(
    "1,200 copied, 1 failed · 5 B",
  );
});

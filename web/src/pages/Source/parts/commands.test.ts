import { expect, test } from "vitest";
import { connectionCommand, importCommand, sourceCommand } from "./commands";
import { EMPTY_DRAFT } from "./connectionDraft";

const INTO = { project: "default", dataset: "scans", branch: "main" };
const PLACE = { connection: "archive", uri: "s3://archive/a b/", listing: false, path: "raw" };

test("forms show the command line that does the same", () => {
  expect(importCommand(INTO, PLACE)).toBe(
    "mill data import default/scans:raw 's3://archive/a b/' --connection archive",
  );
  expect(sourceCommand({ ...INTO, branch: "dev" }, { ...PLACE, path: "", copies: true, every: "3600" })).toBe(
    "mill source add default/scans@dev 's3://archive/a b/' --connection archive --copy --every 3600s",
  );
});

test("a secret never stands in a command line", () => {
  const draft = { ...EMPTY_DRAFT, name: "archive", url: "archive", keyId: "AKIA", secret: "hush" };
  const command = connectionCommand("default", draft);
  expect(command).toBe(
    "mill connection add archive s3://archive -p default --key-id AKIA --secret-file FILE",
  );
});

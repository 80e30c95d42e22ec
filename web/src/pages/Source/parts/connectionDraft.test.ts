import { expect, test } from "vitest";
import { connectionOf, EMPTY_DRAFT } from "./connectionDraft";

test("only the secrets of the chosen kind are sent", () => {
  const draft = { ...EMPTY_DRAFT, name: "a", url: "bucket", keyId: "id", user: "maria", secret: "hush" };
  expect(connectionOf(draft).url).toBe("s3://bucket");
  expect(connectionOf(draft).credentials).toEqual({ key_id: "id", secret: "hush" });
  expect(connectionOf({ ...draft, kind: "gs" }).credentials).toEqual({ service_account: "hush" });
  expect(connectionOf({ ...draft, kind: "https" }).credentials).toEqual({ user: "maria", password: "hush" });
  expect(connectionOf({ ...draft, kind: "https", user: "" }).credentials).toEqual({ bearer: "hush" });
});

test("a public place needs none, and an endpoint belongs to S3", () => {
  const draft = {
    ...EMPTY_DRAFT,
    kind: "https" as const,
    url: "https://host/x",
    endpoint: "http://left-over",
    writable: true,
  };
  expect(connectionOf(draft)).toEqual({
    name: "",
    url: "https://host/x",
    endpoint: null,
    region: null,
    credentials: null,
    writable: false,
  });
});

import { expect, test } from "vitest";
import { draftOf, toSmtp } from "./draft";

test("what is left empty is not sent", () => {
  const draft = { ...draftOf(), host: " smtp.example.org ", sender: "millpond@example.org" };
  expect(toSmtp(draft)).toEqual({
    host: "smtp.example.org",
    tls: "starttls",
    port: null,
    sender: "millpond@example.org",
    user: null,
    password: null,
    domains: [],
  });
  expect(toSmtp({ ...draft, domains: "a.org, b.org  c.org" }).domains).toEqual(["a.org", "b.org", "c.org"]);
});

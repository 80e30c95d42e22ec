import userEvent from "@testing-library/user-event";
import { afterEach, expect, it, vi } from "vitest";
import { queries } from "../../../api/client";
import { aCommit } from "../../../testing/builders";
import { showPage, signInAs } from "../../../testing/page";
import { FilePreview } from "./FilePreview";
import { kindOf } from "./kinds";

const place = { project: "default", dataset: "digits", ref: "main" };
const asked: string[] = [];

afterEach(() => {
  vi.unstubAllGlobals();
  queries.clear();
  asked.length = 0;
});

/** A server that holds one file; parts of it are answered as the real one does. */
async function show(path: string, content: string, document?: () => Response) {
  signInAs();
  queries.setQueryData(["commit", place], aCommit());
  const bytes = new TextEncoder().encode(content);
  vi.stubGlobal("fetch", async (input: Request | string, init?: RequestInit) => {
    const url = typeof input === "string" ? input : input.url;
    asked.push(url);
    if (url.includes("/preview")) return (document ?? (() => new Response(null, { status: 404 })))();
    if (url.endsWith("/healthz")) throw new TypeError("Failed to fetch");
    const [start = 0, end = bytes.length] = rangeOf(init);
    const part = bytes.slice(start, end + 1);
    const headers = { "Content-Range": `bytes ${start}-${end}/${bytes.length}` };
    return new Response(part, { status: part.length ? 206 : 416, headers });
  });
  return showPage(<FilePreview file={{ ...place, path }} />);
}

function rangeOf(init: RequestInit | undefined): number[] {
  const told = new Headers(init?.headers).get("Range") ?? "";
  return told.replace("bytes=", "").split("-").map(Number);
}

it("shows a table page by page", async () => {
  const rows = Array.from({ length: 150 }, (_, n) => `${n},"row, ${n}"`);
  const page = await show("t/labels.csv", `id,name\n${rows.join("\n")}\n`);
  expect(await page.findByText("row, 99")).toBeTruthy();
  expect(page.getByText("integer")).toBeTruthy();
  expect(page.queryByText("row, 100")).toBeNull();
  await userEvent.click(page.getByRole("button", { name: "Next rows" }));
  expect(await page.findByText("row, 149")).toBeTruthy();
  expect(page.getByText(/Rows 101 to 150/)).toBeTruthy();
  await userEvent.click(page.getByRole("button", { name: "Previous rows" }));
  expect(await page.findByText("row, 0")).toBeTruthy();
  // Read by the commit's id: the branch may move between two parts.
  expect(asked.every((url) => url.includes(`/commits/${aCommit().id}/`))).toBe(true);
});

it("shows the beginning of a long text, and more of it when asked", async () => {
  const page = await show("log.txt", `${"x".repeat(300_000)}the end`);
  expect(await page.findByText(/The first 262.1 kB of 300.0 kB are shown/)).toBeTruthy();
  await userEvent.click(page.getByRole("button", { name: "Show more" }));
  expect(await page.findByText(/the end$/)).toBeTruthy();
  expect(page.queryByRole("button", { name: "Show more" })).toBeNull();
});

it("opens and closes the parts of JSON", async () => {
  const page = await show("config.json", '{"lr": 0.1, "aug": {"flip": true}}');
  expect(await page.findByText("0.1")).toBeTruthy();
  expect(page.queryByText("true")).toBeNull();
  await userEvent.click(page.getByRole("button", { name: /aug/ }));
  expect(page.getByText("true")).toBeTruthy();
});

it("shows what is no JSON as the text it is, and says why", async () => {
  const page = await show("config.json", '{"lr": ');
  expect(await page.findByText(/This is not JSON/)).toBeTruthy();
  expect(page.getByText('{"lr":')).toBeTruthy();
});

it("says so when the second origin is out of reach, and has the source", async () => {
  const origin = "http://lab:8421";
  const page = await show("report.html", "<h1>hi</h1>", () =>
    Response.json({ origin, url: `${origin}/t/x` }, { status: 201 }),
  );
  expect(await page.findByText(/does not reach http:\/\/lab:8421/)).toBeTruthy();
  expect(page.container.ownerDocument.querySelector("iframe")).toBeNull();
  await userEvent.click(page.getByText("Source"));
  expect(await page.findByText("<h1>hi</h1>")).toBeTruthy();
});

it.each([
  ["a.PNG", "image"],
  ["a.svg", "document"],
  ["a.HTM", "document"],
  ["a.tsv", "table"],
  ["a.parquet", "parquet"],
  ["a.jsonl", "lines"],
  ["a.ipynb", "json"],
  ["a.flac", "audio"],
  ["a.webm", "video"],
  ["html", "text"],
  ["a.html.txt", "text"],
])("takes %s for %s", (name, kind) => {
  expect(kindOf(name)).toBe(kind);
});

import { onlineManager } from "@tanstack/react-query";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { isReachable } from "../lib/reach";
import { signInAs } from "../testing/page";
import { api, queries, take } from "./client";
import type { ApiError } from "./problem";

const fetched = vi.fn<(request: Request) => Promise<Response>>();

beforeEach(() => void vi.stubGlobal("fetch", fetched));
afterEach(() => {
  vi.unstubAllGlobals();
  queries.clear();
});

function answer(body: unknown, status = 200) {
  const headers = { "content-type": status < 400 ? "application/json" : "application/problem+json" };
  fetched.mockResolvedValueOnce(new Response(JSON.stringify(body), { status, headers }));
}

it("sends the CSRF token with changes only", async () => {
  signInAs();
  answer({ items: [] });
  await take(api.GET("/api/v1/volumes"));
  answer({});
  await take(api.POST("/api/v1/caches/{cached}/pin", { params: { path: { cached: "c1" } } }));
  const sent = fetched.mock.calls.map(([request]) => request.headers.get("X-Mill-CSRF"));
  expect(sent).toEqual([null, "the-csrf"]);
});

it("throws a problem with its message, hint and request id", async () => {
  const problem = { code: "in_use", detail: "job train uses it", hint: "Stop it first.", request_id: "q7" };
  answer(problem, 409);
  const error: ApiError = await take(api.GET("/api/v1/home")).catch((thrown) => thrown);
  expect(error).toMatchObject({
    message: "job train uses it",
    hint: "Stop it first.",
    requestId: "q7",
    status: 409,
    code: "in_use",
  });
});

it("knows when the server is away, and when it is back", async () => {
  fetched.mockRejectedValueOnce(new TypeError("failed to fetch"));
  const error: ApiError = await take(api.GET("/api/v1/home")).catch((thrown) => thrown);
  expect(error.code).toBe("server_unreachable");
  expect(isReachable()).toBe(false);
  answer({});
  await take(api.GET("/api/v1/home"));
  expect(isReachable()).toBe(true);
});

it("asks also while the browser believes to be offline, and fails instead of waiting for ever", async () => {
  onlineManager.setOnline(false);
  try {
    const failing = queries.fetchQuery({
      queryKey: ["offline"],
      queryFn: () => Promise.reject(new Error("away")),
    });
    await expect(failing).rejects.toThrow("away");
  } finally {
    onlineManager.setOnline(true);
    queries.clear();
  }
});

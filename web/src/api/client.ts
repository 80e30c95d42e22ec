/** The one way to the server: typed by its OpenAPI document, with the session's cookie and CSRF header. */
import { QueryCache, QueryClient } from "@tanstack/react-query";
import createClient, { type Middleware } from "openapi-fetch";
import { isReachable, onReachChange, reportReach } from "../lib/reach";
import { ApiError, errorFrom, UNREACHABLE, unreachable } from "./problem";
import type { paths } from "./schema";
import type { Session } from "./shapes";

const HEALTH = "/api/v1/health";
export const SESSION_KEY = ["session"] as const;

/** Called when a request finds that nobody is signed in any more; set by the router. */
export const signedOut = { handle: () => {} };

export const queries = new QueryClient({
  queryCache: new QueryCache({
    onError: (error, query) => {
      const expired = error instanceof ApiError && error.status === 401;
      if (expired && query.queryKey[0] !== SESSION_KEY[0]) signedOut.handle();
    },
  }),
  defaultOptions: {
    // A browser that believes to be offline asks all the same: a request that waits for the network shows nothing for ever.
    mutations: { networkMode: "always" },
    queries: {
      networkMode: "always",
      // Events say when something changed; what is shown stays true until then.
      staleTime: 60_000,
      refetchOnWindowFocus: false,
      refetchOnReconnect: true,
      retry: (failures, error) =>
        error instanceof ApiError && (error.status === 0 || error.status >= 500) && failures < 2,
    },
  },
});

// What could not be shown while the server was away is asked for again as soon as it answers.
onReachChange(() => {
  // A server that answers with errors may say what is away.
  if (!isReachable()) void queries.refetchQueries({ queryKey: ["health"], type: "active" });
  if (isReachable())
    void queries.refetchQueries({ type: "active", predicate: (query) => query.state.status === "error" });
});

const session: Middleware = {
  onRequest({ request }) {
    const csrf = queries.getQueryData<Session>(SESSION_KEY)?.csrf;
    if (request.method !== "GET" && csrf) request.headers.set("X-Mill-CSRF", csrf);
    return request;
  },
  onResponse({ request, response }) {
    // A server that has no database still tells of its health: that does not mean that it answers.
    if (!request.url.endsWith(HEALTH)) reportReach(response.status < 502 || response.status > 504);
  },
  onError() {
    reportReach(false);
    return unreachable();
  },
};

export const api = createClient<paths>({
  baseUrl: document.baseURI,
  credentials: "same-origin",
  fetch: (request) => globalThis.fetch(request),
});
api.use(session);

interface Answer<Data> {
  data?: Data;
  error?: unknown;
  response: Response;
}

/** The body of a success; anything else is thrown as an ApiError. */
export async function take<Data>(asked: Promise<Answer<Data>>): Promise<NonNullable<Data>> {
  const { data, error, response } = await asked;
  if (!response.ok) throw errorFrom(response, error);
  return data as NonNullable<Data>;
}

export function isUnreachable(error: unknown): boolean {
  return error instanceof ApiError && error.code === UNREACHABLE;
}

/** A server that a test writes down: answers by method and the end of the path, and what was asked of it. */
import { vi } from "vitest";

type Answers = Record<string, unknown>;

export function answering(answers: Answers) {
  const asked: Request[] = [];
  vi.stubGlobal("fetch", async (request: Request) => {
    asked.push(request.clone());
    const { pathname } = new URL(request.url);
    const line = `${request.method} ${pathname.replace(/^.*\/api\/v1/, "")}`;
    if (!(line in answers)) return Response.json({ items: [], next: null });
    const answer = answers[line];
    return answer === null ? new Response(null, { status: 204 }) : Response.json(answer);
  });
  const changes = () => asked.filter((request) => request.method !== "GET");
  return {
    /** The requests that change something, as `METHOD path` and body. */
    changes: async () =>
      Promise.all(
        changes().map(async (request) => {
          const { pathname, search } = new URL(request.url);
          const path = pathname.replace(/^.*\/api\/v1/, "") + search;
          const text = await request.clone().text();
          return [`${request.method} ${path}`, text ? JSON.parse(text) : null] as const;
        }),
      ),
  };
}

/** An answer that is not a success, as an error the page can show: message, hint, request id. */
import type { Problem } from "./shapes";

export class ApiError extends Error {
  override readonly name = "ApiError";

  constructor(
    message: string,
    readonly status: number,
    readonly code: string,
    readonly hint: string | null = null,
    readonly requestId: string | null = null,
    /** What programs may use: the paths of a conflict, the jobs that use a dataset. */
    readonly details: Readonly<Record<string, unknown>> = {},
  ) {
    super(message);
  }
}

export const UNREACHABLE = "server_unreachable";

export function unreachable(): ApiError {
  return new ApiError("The server does not respond.", 0, UNREACHABLE, "Retrying automatically.");
}

/** From whatever came back: a problem document, or something a proxy made. */
export function errorFrom(response: Response, body: unknown): ApiError {
  if (isProblem(body)) {
    const { detail, code, hint, request_id, details } = body;
    return new ApiError(detail, response.status, code, hint ?? null, request_id, details);
  }
  if (response.status >= 502 && response.status <= 504) return unreachable();
  const message = `The server answered ${response.status} ${response.statusText}`.trim();
  return new ApiError(`${message}.`, response.status, "internal");
}

function isProblem(body: unknown): body is Problem {
  return typeof body === "object" && body !== null && "code" in body && "detail" in body;
}

export function isNotFound(error: unknown): boolean {
  return error instanceof ApiError && error.status === 404;
}

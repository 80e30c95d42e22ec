/** What a tab and the worker that sends its files say to each other. */
import type { Item, Progress } from "./sending";
import type { Target } from "./server";

export interface Start {
  readonly target: Target;
  readonly items: readonly Item[];
}

/** An error without its class, since those do not pass between threads. */
export interface Failure {
  readonly message: string;
  readonly hint: string | null;
  readonly code: string;
  readonly requestId: string | null;
}

export type FromWorker =
  | { readonly kind: "progress"; readonly progress: Progress }
  | { readonly kind: "away"; readonly away: boolean }
  | { readonly kind: "done"; readonly commit: string }
  | { readonly kind: "failed"; readonly failure: Failure };

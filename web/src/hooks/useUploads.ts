/** The uploads of this tab, kept for as long as it is open. */
import { useSyncExternalStore } from "react";
import { queries, SESSION_KEY } from "../api/client";
import { refreshTopic } from "../api/live";
import type { Session } from "../api/shapes";
import { apiAddress } from "../lib/base";
import { type UploadState, Uploads } from "../lib/upload/uploads";

export const uploads = new Uploads(
  () =>
    new Worker(new URL("../lib/upload/worker.ts", import.meta.url), {
      type: "module",
      name: "millpond-upload",
    }),
  () => ({ api: apiAddress(""), csrf: queries.getQueryData<Session>(SESSION_KEY)?.csrf ?? "" }),
  // Events say so, too, but not to a tab whose stream is away.
  () => refreshTopic("datasets"),
);

// Leaving the page ends its uploads: the browser asks first.
window.addEventListener("beforeunload", (event) => {
  if (uploads.isBusy()) event.preventDefault();
});

export function useUploads(): readonly UploadState[] {
  return useSyncExternalStore(uploads.subscribe, uploads.list);
}

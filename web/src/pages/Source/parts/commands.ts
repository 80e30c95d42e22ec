/** The command lines that do what the forms do. */
import { shellQuote } from "../../../lib/names";
import type { ConnectionDraft } from "./connectionDraft";
import { connectionOf } from "./connectionDraft";
import type { PlaceDraft } from "./PlaceFields";

/** `DATASET@BRANCH:PATH`, as far as each part is needed. */
function target(project: string, dataset: string, branch: string, path: string): string {
  const ref = branch === "main" ? "" : `@${branch}`;
  return shellQuote(`${project}/${dataset || "DATASET"}${ref}${path ? `:${path}` : ""}`);
}

interface Into {
  project: string;
  dataset: string;
  branch: string;
}

export function importCommand(into: Into, { uri, listing, connection, path }: PlaceDraft): string {
  const words = [
    "mill data import",
    target(into.project, into.dataset, into.branch, path),
    uri ? shellQuote(uri) : "ADDRESS",
    listing && "--listing",
    connection && `--connection ${shellQuote(connection)}`,
  ];
  return words.filter(Boolean).join(" ");
}

export function sourceCommand(into: Into, draft: PlaceDraft & { copies: boolean; every: string }): string {
  const words = [
    importCommand(into, draft).replace("mill data import", "mill source add"),
    draft.copies && "--copy",
    `--every ${draft.every}s`,
  ];
  return words.filter(Boolean).join(" ");
}

/** Without the secret: on the command line it comes from a file. */
export function connectionCommand(project: string, draft: ConnectionDraft): string {
  const asked = connectionOf(draft);
  const words = [
    "mill connection add",
    asked.name ? shellQuote(asked.name) : "NAME",
    draft.url ? shellQuote(asked.url) : `${draft.kind}://…`,
    `-p ${shellQuote(project)}`,
    asked.endpoint && `--endpoint ${shellQuote(asked.endpoint)}`,
    asked.region && `--region ${shellQuote(asked.region)}`,
    draft.kind === "s3" && draft.keyId && `--key-id ${shellQuote(draft.keyId)}`,
    draft.kind === "https" && draft.user && `--user ${shellQuote(draft.user)}`,
    asked.credentials && "--secret-file FILE",
    asked.writable && "--writable",
  ];
  return words.filter(Boolean).join(" ");
}

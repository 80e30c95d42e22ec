import type { ConnectionCreate } from "../../../api/shapes";

export interface ConnectionDraft {
  kind: "s3" | "gs" | "https";
  name: string;
  url: string;
  endpoint: string;
  region: string;
  keyId: string;
  user: string;
  secret: string;
  /** Moves may write there. */
  writable: boolean;
}

export const KINDS = [
  { value: "s3", label: "S3" },
  { value: "gs", label: "Google Cloud Storage" },
  { value: "https", label: "https" },
];

export const EMPTY_DRAFT: ConnectionDraft = {
  kind: "s3",
  name: "",
  url: "",
  endpoint: "",
  region: "",
  keyId: "",
  user: "",
  secret: "",
  writable: false,
};

type Credentials = NonNullable<ConnectionCreate["credentials"]>;

/** What is sent: a scheme that was left out is the one of the chosen kind, and only its own secrets go along. */
export function connectionOf(draft: ConnectionDraft): ConnectionCreate {
  const url = draft.url.includes("://") ? draft.url : `${draft.kind}://${draft.url}`;
  const isS3 = draft.kind === "s3";
  return {
    name: draft.name,
    url,
    endpoint: (isS3 && draft.endpoint) || null,
    region: (isS3 && draft.region) || null,
    credentials: credentialsOf(draft),
    writable: isS3 && draft.writable,
  };
}

function credentialsOf({ kind, keyId, user, secret }: ConnectionDraft): Credentials | null {
  if (!secret && !keyId && !user) return null;
  if (kind === "gs") return { service_account: secret };
  if (kind === "s3") return { key_id: keyId, secret };
  return user ? { user, password: secret } : { bearer: secret };
}

import type { Smtp, SmtpSet } from "../../api/shapes";

export const TLS_OPTIONS = [
  { value: "starttls", label: "STARTTLS" },
  { value: "tls", label: "TLS from the beginning" },
  { value: "none", label: "Not encrypted" },
];

export const PORTS = { starttls: 587, tls: 465, none: 25 } as const;

export interface Draft {
  host: string;
  tls: keyof typeof PORTS;
  port: number | "";
  sender: string;
  user: string;
  password: string;
  domains: string;
}

export function draftOf(before?: Smtp): Draft {
  return {
    host: before?.host ?? "",
    tls: before?.tls ?? "starttls",
    port: before?.port ?? "",
    sender: before?.sender ?? "",
    user: before?.user ?? "",
    password: "",
    domains: before?.domains.join(", ") ?? "",
  };
}

export function toSmtp(draft: Draft): SmtpSet {
  return {
    host: draft.host.trim(),
    tls: draft.tls,
    port: draft.port === "" ? null : Number(draft.port),
    sender: draft.sender.trim(),
    user: draft.user || null,
    password: draft.password || null,
    domains: draft.domains.split(/[\s,]+/).filter(Boolean),
  };
}

import type { ProviderCreate } from "../../../api/shapes";

export type Kind = "oidc" | "ldap";

/** What the form holds: texts, as they were typed. */
export interface Draft {
  name: string;
  title: string;
  kind: Kind;
  secret: string;
  issuer: string;
  client_id: string;
  scopes: string;
  groups_claim: string;
  domains: string;
  allow_unverified_email: boolean;
  url: string;
  start_tls: boolean;
  bind_dn: string;
  user_base: string;
  user_filter: string;
  group_base: string;
  group_filter: string;
  nested: boolean;
  create_accounts: boolean;
}

export const EMPTY: Draft = {
  name: "",
  title: "",
  kind: "oidc",
  secret: "",
  issuer: "",
  client_id: "",
  scopes: "openid profile email",
  groups_claim: "groups",
  domains: "",
  allow_unverified_email: false,
  url: "",
  start_tls: false,
  bind_dn: "",
  user_base: "",
  user_filter: "(uid={username})",
  group_base: "",
  group_filter: "(member={dn})",
  nested: false,
  create_accounts: true,
};

const words = (text: string) => text.split(/[\s,]+/).filter(Boolean);

/** What is sent: the part of the chosen kind alone. */
export function toProvider(draft: Draft): ProviderCreate {
  const { name, title, secret, create_accounts } = draft;
  const common = { name: name.trim(), title: title.trim(), ...(secret ? { secret } : {}) };
  if (draft.kind === "oidc") {
    const { issuer, client_id, scopes, groups_claim, domains, allow_unverified_email } = draft;
    return {
      ...common,
      oidc: {
        issuer: issuer.trim(),
        client_id: client_id.trim(),
        scopes: words(scopes),
        groups_claim: groups_claim.trim(),
        domains: words(domains),
        allow_unverified_email,
        create_accounts,
      },
    };
  }
  const { url, start_tls, bind_dn, user_base, user_filter, group_base, group_filter, nested } = draft;
  return {
    ...common,
    ldap: {
      url: url.trim(),
      start_tls,
      bind_dn: bind_dn.trim(),
      user_base: user_base.trim(),
      user_filter,
      group_base: group_base.trim(),
      group_filter,
      nested,
      create_accounts,
    },
  };
}

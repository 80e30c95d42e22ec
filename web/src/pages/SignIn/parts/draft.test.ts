import { expect, it } from "vitest";
import { EMPTY, toProvider } from "./draft";

it("sends the part of the chosen kind alone", () => {
  const typed = { ...EMPTY, name: " corp ", issuer: "https://login.example.com ", client_id: "mill" };
  const oidc = toProvider({ ...typed, domains: "a.example, b.example", secret: "s" });
  expect(oidc).toMatchObject({ name: "corp", secret: "s" });
  expect(oidc.oidc).toMatchObject({
    issuer: "https://login.example.com",
    scopes: ["openid", "profile", "email"],
    domains: ["a.example", "b.example"],
  });
  expect(oidc).not.toHaveProperty("ldap");
  const ldap = toProvider({ ...typed, kind: "ldap", url: "ldaps://dir", user_base: "ou=people" });
  expect(ldap.ldap).toMatchObject({ url: "ldaps://dir", user_filter: "(uid={username})" });
  expect(ldap).not.toHaveProperty("oidc");
  expect(ldap).not.toHaveProperty("secret");
});

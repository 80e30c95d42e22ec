// A certified OpenID provider for the tests of single sign-on, on a port of this machine.
//
//   node provider.mjs PORT ACCOUNTS.json REDIRECT_URI [SIGN_OUT_URI] [BACK_CHANNEL_URI]
//
// ACCOUNTS.json maps logins to claims and is read at each sign-in; any password is right. The sign-in form is that of
// oidc-provider's development mode. `POST /control/rotate` takes other signing keys; `POST /control/hide` publishes
// others than it signs with, until the next rotation.
import { generateKeyPairSync, randomUUID } from "node:crypto";
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import { Provider } from "oidc-provider";

const [port, accounts, redirectUri, signOutUri, backChannelUri] = process.argv.slice(2);
const issuer = `http://127.0.0.1:${port}`;
let hidden = false;

function newKey() {
  const { privateKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });
  return { ...privateKey.export({ format: "jwk" }), kid: randomUUID(), use: "sig", alg: "RS256" };
}

function makeProvider(key) {
  const provider = new Provider(issuer, {
    jwks: { keys: [key] },
    clients: [
      {
        client_id: "millpond",
        client_secret: "a client secret",
        redirect_uris: [redirectUri],
        post_logout_redirect_uris: signOutUri ? [signOutUri] : [],
        ...(backChannelUri
          ? { backchannel_logout_uri: backChannelUri, backchannel_logout_session_required: true }
          : {}),
      },
    ],
    cookies: { keys: ["for tests alone"] },
    claims: {
      openid: ["sub"],
      profile: ["name", "preferred_username"],
      email: ["email", "email_verified"],
      groups: ["groups"],
    },
    scopes: ["openid", "profile", "email", "groups"],
    features: {
      devInteractions: { enabled: true },
      backchannelLogout: { enabled: true },
      rpInitiatedLogout: { enabled: true },
    },
    pkce: { required: () => true },
    ttl: { AccessToken: 600, AuthorizationCode: 60, IdToken: 120, Interaction: 600, Grant: 3600, Session: 3600 },
    findAccount(_context, sub) {
      const claims = JSON.parse(readFileSync(accounts, "utf8"))[sub];
      return claims && { accountId: sub, claims: async () => ({ sub, ...claims }) };
    },
    // Nobody is asked what they allow.
    async loadExistingGrant({ oidc }) {
      const known = oidc.session.grantIdFor(oidc.client.clientId);
      if (known) return oidc.provider.Grant.find(known);
      const grant = new oidc.provider.Grant({ clientId: oidc.client.clientId, accountId: oidc.session.accountId });
      grant.addOIDCScope("openid profile email groups");
      await grant.save();
      return grant;
    },
  });
  provider.on("server_error", (_context, error) => console.error(error));
  return provider;
}


let handle = makeProvider(newKey()).callback();

createServer((request, response) => {
  if (request.method === "POST" && request.url === "/control/rotate") {
    handle = makeProvider(newKey()).callback();
    hidden = false;
    response.end();
  } else if (request.method === "POST" && request.url === "/control/hide") {
    hidden = true;
    response.end();
  } else if (hidden && request.url === "/jwks") {
    response.setHeader("Content-Type", "application/json");
    response.end(JSON.stringify({ keys: [publicPart(newKey())] }));
  } else {
    handle(request, response);
  }
}).listen(Number(port), "127.0.0.1", () => console.log(`ready at ${issuer}`));

function publicPart({ kty, n, e, kid, use, alg }) {
  return { kty, n, e, kid, use, alg };
}

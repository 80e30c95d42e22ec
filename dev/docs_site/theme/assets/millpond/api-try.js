// Sends one operation to this server with the session of the page, and writes it as a curl command.
import { resolved } from "./api-shapes.js";
import { element } from "./element.js";

const MOST_SHOWN = 100_000;

export function tryIt(operation, api, root) {
  const { method, path, parameters = [], requestBody } = operation;
  const fields = parameters
    .filter((parameter) => parameter.in !== "header")
    .map((parameter) => ({ ...parameter, input: inputOf(parameter) }));
  const schema = requestBody?.content?.["application/json"]?.schema;
  const body = schema && element("textarea", { class: "api-body", rows: "8", "aria-label": "Body", spellcheck: "false" });
  if (body) body.value = JSON.stringify(exampleOf(schema, api), null, 2);
  const send = element("button", { class: "md-button", type: "submit" }, `Send ${method.toUpperCase()}`);
  const answer = element("pre", { class: "api-answer", hidden: "", tabindex: "0", "aria-live": "polite" });
  const curl = element("code", {});
  const form = element(
    "form",
    { class: "api-try" },
    element("h4", {}, "Try it"),
    ...fields.map(({ name, input }) => element("label", {}, element("code", {}, name), input)),
    body,
    element("pre", {}, curl),
    send,
    answer,
  );
  const describe = () => {
    curl.textContent = curlOf(method, addressOf(path, fields, root), body?.value);
  };
  form.addEventListener("input", describe);
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const address = addressOf(path, fields, root);
    if (method === "delete" && !confirm(`Send DELETE ${address.pathname} to this server?`)) return;
    send.disabled = true;
    answer.hidden = false;
    answer.textContent = "…";
    answer.textContent = await sent(method, address, body?.value, root);
    send.disabled = false;
  });
  describe();
  return form;
}

function inputOf({ name, required, schema }) {
  const attributes = { class: "md-input", name, "aria-label": name, placeholder: schema?.default ?? "" };
  return element("input", required ? { ...attributes, required: "" } : attributes);
}

function addressOf(path, fields, root) {
  let written = path;
  const query = new URLSearchParams();
  for (const { name, in: place, input } of fields) {
    const value = input.value;
    if (place === "path") written = written.replace(`{${name}}`, value ? encodeURIComponent(value) : `{${name}}`);
    else if (value) query.append(name, value);
  }
  const address = new URL(written.replace(/^\//, ""), root);
  address.search = query.toString();
  return address;
}

async function sent(method, address, body, root) {
  const started = performance.now();
  try {
    const headers = { Accept: "application/json" };
    if (method !== "get") {
      const session = await fetch(new URL("api/v1/session", root));
      if (!session.ok) return "You are not signed in: sign in on the page, then send this again.";
      headers["X-Mill-CSRF"] = (await session.json()).csrf ?? "";
      if (body !== undefined) headers["Content-Type"] = "application/json";
    }
    const answer = await fetch(address, { method: method.toUpperCase(), headers, body });
    const head = `${answer.status} ${answer.statusText} in ${Math.round(performance.now() - started)} ms\n\n`;
    const text = await answer.text();
    return head + shown(text);
  } catch (error) {
    return `The server does not answer: ${error.message}`;
  }
}

function shown(text) {
  let written = text;
  try {
    written = JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    // It is no JSON: as it is.
  }
  return written.length > MOST_SHOWN ? `${written.slice(0, MOST_SHOWN)}\n…` : written;
}

function curlOf(method, address, body) {
  const words = ["curl"];
  if (method !== "get") words.push("-X", method.toUpperCase());
  words.push("-H", '"Authorization: Bearer $MILL_TOKEN"');
  if (body !== undefined) words.push("--json", `'${compact(body).replaceAll("'", "'\\''")}'`);
  return [...words, `'${decodeURI(address.href).replaceAll("'", "%27")}'`].join(" ");
}

function compact(body) {
  try {
    return JSON.stringify(JSON.parse(body));
  } catch {
    return body;
  }
}

/** A body with the fields that must be there. */
function exampleOf(schema, api, depth = 0) {
  const shape = resolved(schema, api) ?? {};
  if (shape.default !== undefined) return shape.default;
  if (shape.enum) return shape.enum[0];
  const several = shape.anyOf ?? shape.oneOf ?? shape.allOf;
  if (several) return exampleOf(several[0], api, depth + 1);
  if (shape.type === "object") {
    if (depth > 4) return {};
    const names = shape.required ?? [];
    return Object.fromEntries(names.map((name) => [name, exampleOf(shape.properties?.[name], api, depth + 1)]));
  }
  const plain = { string: "", integer: 0, number: 0, boolean: false, array: [] };
  return plain[shape.type] ?? null;
}

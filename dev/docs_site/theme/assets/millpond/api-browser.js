// The API of this very server, from its OpenAPI document: read it, filter it, try it with one's session.
import { element } from "./element.js";
import { shapeOf } from "./api-shapes.js";
import { tryIt } from "./api-try.js";

const ROOT = new URL("../../", location.href);
const METHODS = ["get", "post", "put", "patch", "delete"];

show(document.getElementById("api-browser"));

async function show(place) {
  let api;
  try {
    const answer = await fetch(new URL("api/v1/openapi.json", ROOT));
    api = await answer.json();
  } catch {
    place.textContent = "The server does not answer with its description.";
    return;
  }
  const operations = operationsOf(api);
  const groups = groupsOf(operations, api);
  const count = element("span", { class: "api-count", role: "status" });
  const filter = element("input", {
    class: "md-input api-filter",
    type: "search",
    placeholder: "Filter by path, name or words",
    "aria-label": "Filter operations",
  });
  const narrow = () => {
    const words = filter.value.toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
    for (const { box, rows } of groups) {
      let found = 0;
      for (const { node, text } of rows) {
        node.hidden = !words.every((word) => text.includes(word));
        found += node.hidden ? 0 : 1;
      }
      box.hidden = found === 0;
      if (words.length) box.open = found > 0;
      shown += found;
    }
    count.textContent = `${shown} of ${operations.length} operations`;
  };
  filter.addEventListener("input", narrow);
  place.replaceChildren(element("div", { class: "api-head" }, filter, count), ...groups.map((group) => group.box));
  narrow();
  openNamed();
  addEventListener("hashchange", openNamed);
}

function operationsOf(api) {
  return Object.entries(api.paths).flatMap(([path, item]) =>
    METHODS.filter((method) => item[method]).map((method) => ({ path, method, ...item[method] })),
  );
}

function groupsOf(operations, api) {
  const tags = [...new Set(operations.map(({ tags: [tag] }) => tag))].sort();
  return tags.map((tag) => {
    const rows = operations
      .filter(({ tags }) => tags[0] === tag)
      .map((operation) => ({ node: row(operation, api), text: textOf(operation) }));
    const heading = element("summary", {}, tag, element("small", {}, ` ${rows.length}`));
    return { rows, box: element("details", { class: "api-group" }, heading, ...rows.map(({ node }) => node)) };
  });
}

function textOf({ path, method, operationId, summary = "", description = "" }) {
  return `${method} ${path} ${operationId} ${summary} ${description}`.toLowerCase();
}

function row(operation, api) {
  const { method, path, summary, operationId } = operation;
  const head = element(
    "summary",
    {},
    element("b", { class: `api-method api-${method}` }, method.toUpperCase()),
    element("code", {}, path.replace("/api/v1", "")),
    element("span", {}, summary),
  );
  const box = element("details", { class: "api-operation", id: operationId }, head);
  // What it says is made when somebody looks: there are hundreds.
  box.addEventListener("toggle", () => box.open && box.childElementCount === 1 && box.append(details(operation, api)));
  return box;
}

function details(operation, api) {
  const { description, parameters = [], requestBody, responses, operationId } = operation;
  const access = operation["x-mill-access"];
  const body = requestBody?.content?.["application/json"]?.schema;
  const [status, answer] = Object.entries(responses).find(([code]) => code.startsWith("2")) ?? ["200", {}];
  const answered = answer.content?.["application/json"]?.schema;
  return element(
    "div",
    { class: "api-details" },
    description && element("p", {}, description),
    element("p", {}, "Who may: ", element("strong", {}, access ?? "anybody"), " · ", link(operationId)),
    parameters.length > 0 && parameterTable(parameters, api),
    body && element("h4", {}, "Body"),
    body && shapeOf(body, api),
    element("h4", {}, `Answer ${status}`),
    answered ? shapeOf(answered, api) : element("p", {}, Object.keys(answer.content ?? {}).join(", ") || "Nothing."),
    tryIt(operation, api, ROOT),
  );
}

function link(id) {
  return element("a", { href: `#${id}` }, "link to this");
}

function parameterTable(parameters, api) {
  const rows = parameters.map(({ name, in: place, required, schema, description }) =>
    element(
      "tr",
      {},
      element("td", {}, element("code", {}, name)),
      element("td", {}, place + (required ? ", required" : "")),
      element("td", {}, shapeOf(schema, api)),
      element("td", {}, description ?? schema.description ?? ""),
    ),
  );
  return element("table", { class: "api-parameters" }, element("tbody", {}, ...rows));
}

function openNamed() {
  const named = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  if (!named?.classList.contains("api-operation")) return;
  named.closest(".api-group").open = true;
  named.open = true;
  named.scrollIntoView();
}

// Shapes of the OpenAPI document as people read them: fields with their types, named shapes open when asked.
import { element } from "./element.js";

const LIMITS = {
  minimum: "≥",
  maximum: "≤",
  exclusiveMinimum: ">",
  exclusiveMaximum: "<",
  minLength: "length ≥",
  maxLength: "length ≤",
  minItems: "items ≥",
  maxItems: "items ≤",
  pattern: "matches",
};

export function shapeOf(schema, api) {
  const { named, written } = read(schema, api);
  if (!named) return element("span", { class: "api-type" }, written);
  const box = element("details", { class: "api-shape" }, element("summary", {}, element("code", {}, written)));
  box.addEventListener("toggle", () => box.open && box.childElementCount === 1 && box.append(fieldsOf(named, api)));
  return box;
}

/** The shape behind a reference. */
export function resolved(schema, api) {
  const name = schema?.$ref?.split("/").pop();
  return name ? api.components.schemas[name] : schema;
}

/** How a schema is written, and the named shape with fields that it is, holds, or may be. */
function read(schema, api) {
  if (!schema || Object.keys(schema).length === 0) return { written: "anything" };
  if (schema.$ref) {
    const name = schema.$ref.split("/").pop();
    const found = api.components.schemas[name];
    return found?.enum ? { written: found.enum.map(quoted).join(" | ") } : { named: found, written: name };
  }
  const several = schema.anyOf ?? schema.oneOf ?? schema.allOf;
  if (several) {
    const parts = several.map((part) => read(part, api));
    return { named: parts.find((part) => part.named)?.named, written: parts.map((part) => part.written).join(" | ") };
  }
  if (schema.enum) return { written: schema.enum.map(quoted).join(" | ") };
  if (schema.const !== undefined) return { written: quoted(schema.const) };
  if (schema.type === "array") {
    const inner = read(schema.items, api);
    return { named: inner.named, written: `[${inner.written}]${limitsOf(schema)}` };
  }
  if (schema.type === "object" && schema.properties) return { named: schema, written: schema.title ?? "object" };
  if (schema.type === "object") {
    const inner = read(schema.additionalProperties === true ? {} : schema.additionalProperties, api);
    return { named: inner.named, written: `{name: ${inner.written}}` };
  }
  const format = schema.format ? ` (${schema.format})` : "";
  return { written: `${schema.type ?? "anything"}${format}${limitsOf(schema)}` };
}

function fieldsOf(shape, api) {
  const required = new Set(shape.required ?? []);
  const rows = Object.entries(shape.properties ?? {}).map(([name, schema]) =>
    element(
      "tr",
      {},
      element("td", {}, element("code", {}, name)),
      element("td", {}, required.has(name) ? "" : `optional${defaultOf(schema)}`),
      element("td", {}, shapeOf(schema, api)),
      element("td", {}, schema.description ?? ""),
    ),
  );
  const table = element("table", { class: "api-fields" }, element("tbody", {}, ...rows));
  return element("div", {}, shape.description && element("p", {}, shape.description), table);
}

function defaultOf(schema) {
  const value = schema.default;
  return value === undefined || value === null || (typeof value === "object" && !Object.keys(value).length)
    ? ""
    : `, ${JSON.stringify(value)}`;
}

function limitsOf(schema) {
  const found = Object.entries(LIMITS).filter(([key]) => schema[key] !== undefined);
  return found.length ? `, ${found.map(([key, words]) => `${words} ${schema[key]}`).join(", ")}` : "";
}

function quoted(value) {
  return JSON.stringify(value);
}

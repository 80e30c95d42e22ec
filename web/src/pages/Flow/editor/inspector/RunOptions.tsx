/** Where, when, how often and how long a step runs. */
import { Group, MultiSelect, NumberInput, Select, TagsInput, Text } from "@mantine/core";
import { deleteIn, setIn } from "../../../../lib/flow/patch";
import { object } from "../library";
import { referencesFor } from "../references";
import { AddNamed } from "./AddNamed";
import type { StepForm } from "./form";
import { Part } from "./Part";
import { ReferenceMenu } from "./ReferenceMenu";
import { SettledInput } from "./SettledInput";
import { bareCondition, checkDuration, isReference, readList, writeList, writtenCondition } from "./values";

/** Endings that may be retried; a number is an exit status. */
const ENDINGS = ["exit", "signal", "oom", "timeout", "any"];

export function RunOptions(form: StepForm) {
  const isWork = form.step.kind !== "approval";
  return (
    <>
      {isWork && <Where {...form} />}
      <WhenAndAfter {...form} />
      {isWork && <Each {...form} />}
      {isWork && <Failure {...form} />}
    </>
  );
}

function Where({ step, places, isEditable, change }: StepForm) {
  const { queue, template, templates } = step.value;
  const chosen = queue
    ? [`queue ${queue}`]
    : (Array.isArray(templates) ? templates : template ? [template] : []).map((name) => `template ${name}`);
  const write = (picked: readonly string[]) => {
    // A queue stands alone; several templates are tried in turn.
    const newest = picked.at(-1);
    const kept = newest?.startsWith("queue ")
      ? [newest]
      : picked.filter((one) => one.startsWith("template "));
    const names = kept.map((one) => one.replace(/^(queue|template) /, ""));
    const isQueue = kept[0]?.startsWith("queue ");
    const given = {
      queue: isQueue ? names[0] : undefined,
      template: !isQueue && names.length === 1 ? names[0] : undefined,
      templates: !isQueue && names.length > 1 ? names : undefined,
    };
    change("where", (text) =>
      Object.entries(given).reduce((done, [key, value]) => {
        const path = ["steps", step.name, key];
        return value === undefined ? deleteIn(done, path) : setIn(done, path, value);
      }, text),
    );
  };
  const offered = (kind: string, names: readonly string[]) =>
    [
      ...new Set([
        ...names,
        ...chosen.filter((one) => one.startsWith(`${kind} `)).map((one) => one.slice(kind.length + 1)),
      ]),
    ].map((name) => ({ value: `${kind} ${name}`, label: name }));
  return (
    <Part
      title="Where it runs"
      isOpen={chosen.length > 0}
      told={chosen.join(", ") || "the project's default"}
    >
      <MultiSelect
        size="xs"
        aria-label="Templates or a queue"
        description="A queue, or templates that are tried in turn."
        placeholder={chosen.length === 0 ? "the project's default" : undefined}
        disabled={!isEditable}
        clearable
        clearButtonProps={{ "aria-label": "Use the project's default" }}
        data={[
          { group: "Queues", items: offered("queue", places.queues) },
          { group: "Templates", items: offered("template", places.templates) },
        ]}
        value={chosen}
        onChange={write}
      />
    </Part>
  );
}

function WhenAndAfter({ step, graph, library, isEditable, option, set }: StepForm) {
  const condition = bareCondition(step.value.when);
  const after = Array.isArray(step.value.after) ? step.value.after.map(String) : [];
  return (
    <Part
      title="Condition and order"
      isOpen={option === "condition" || Boolean(condition) || after.length > 0}
      told={[condition && `if ${condition}`, after.length > 0 && `after ${after.join(", ")}`]
        .filter(Boolean)
        .join(" · ")}
    >
      <SettledInput
        size="xs"
        label="Only if"
        autoFocus={option === "condition"}
        description="Compare with == != < <= > >=, join with and, or, not."
        placeholder="steps.check.outputs.accuracy >= 0.8"
        classNames={{ input: "mono" }}
        disabled={!isEditable}
        written={condition}
        onSettle={(text) => set(["when"], writtenCondition(text))}
        rightSection={
          <ReferenceMenu
            label="the condition"
            disabled={!isEditable}
            references={() => referencesFor(graph, library, step)}
            onChoose={(text) =>
              set(["when"], writtenCondition(condition ? `${condition} and ${text}` : text))
            }
          />
        }
      />
      <TagsInput
        size="xs"
        label="After"
        description="Steps that end before this one starts, without giving it data."
        disabled={!isEditable}
        data={graph.steps.map(({ name }) => name).filter((name) => name !== step.name)}
        value={after}
        onChange={(names) => set(["after"], names.length > 0 ? names : undefined)}
      />
    </Part>
  );
}

function Each({ step, graph, library, isEditable, option, set }: StepForm) {
  const { each } = step.value;
  const lists = object(each);
  const isOneList = typeof each === "string";
  const names = Object.keys(lists);
  const count = names.reduce((all, name) => all * (Array.isArray(lists[name]) ? lists[name].length : 1), 1);
  const isDynamic = isOneList || Object.values(lists).some((one) => typeof one === "string");
  return (
    <Part
      title="Run over a list"
      isOpen={option === "list" || each !== undefined}
      told={each === undefined ? "once" : isOneList ? "a list" : names.join(" × ")}
    >
      {isOneList && (
        <SettledInput
          size="xs"
          label="List"
          classNames={{ input: "mono" }}
          disabled={!isEditable}
          written={String(each)}
          onSettle={(text) => set(["each"], text || undefined)}
        />
      )}
      {names.map((name) => (
        <SettledInput
          key={name}
          size="xs"
          label={name}
          description={`Values with commas between them. Use one as \${each.${name}}`}
          classNames={{ input: "mono" }}
          disabled={!isEditable}
          written={writeList(lists[name])}
          check={(text) => (readList(text) === null ? "Not a list." : null)}
          onSettle={(text) => set(["each", name], text.trim() === "" ? undefined : readList(text))}
          rightSection={
            <ReferenceMenu
              label={name}
              disabled={!isEditable}
              references={() =>
                referencesFor(graph, library, step, "list").filter((one) => one.type === "list")
              }
              onChoose={(text) => set(["each", name], `\${${text}}`)}
            />
          }
        />
      ))}
      {names.length > 0 && !isDynamic && (
        <Text size="xs" c="dimmed">
          {count === 1 ? "Runs once." : `Runs ${count.toLocaleString("en")} times, every combination once.`}
        </Text>
      )}
      {!isOneList && isEditable && (
        <AddNamed
          what="list"
          isFocused={option === "list"}
          taken={names}
          onAdd={(name) => set(["each", name], [1, 2])}
        />
      )}
    </Part>
  );
}

function Failure({ step, isEditable, set }: StepForm) {
  const { retries, timeout, priority, remember } = step.value;
  const detailed = object(retries);
  const count = typeof retries === "number" ? retries : Number(detailed.count ?? 0);
  const endings = Array.isArray(detailed.for) ? detailed.for.map(String) : [];
  const write = (given: { count?: number; for?: string[]; backoff?: string }) => {
    const next = { count, for: endings, backoff: detailed.backoff, ...given };
    if (!next.count) return set(["retries"], undefined);
    if (next.for.length === 0 && !next.backoff) return set(["retries"], next.count);
    return set(["retries"], {
      count: next.count,
      ...(next.for.length > 0 ? { for: next.for } : {}),
      ...(next.backoff ? { backoff: next.backoff } : {}),
    });
  };
  const told = [
    count > 0 && `${count} retries`,
    timeout !== undefined && `at most ${timeout}`,
    remember === false && "never remembered",
  ].filter(Boolean);
  return (
    <Part
      title="Retries, timeout, remembering"
      isOpen={[retries, timeout, priority, remember].some((one) => one !== undefined)}
      told={told.join(" · ")}
    >
      <Group gap={6} grow align="flex-start">
        <NumberInput
          size="xs"
          label="Retries"
          placeholder="as the flow says"
          min={0}
          max={100}
          disabled={!isEditable}
          value={retries === undefined ? "" : count}
          onChange={(given) => (given === "" ? set(["retries"], undefined) : write({ count: Number(given) }))}
        />
        <SettledInput
          size="xs"
          label="Wait between"
          placeholder="5s"
          disabled={!isEditable || count === 0}
          written={String(detailed.backoff ?? "")}
          check={checkDuration}
          onSettle={(text) => write({ backoff: text })}
        />
      </Group>
      {count > 0 && (
        <TagsInput
          size="xs"
          label="Retry after"
          description="Endings, or exit statuses like 75."
          placeholder={endings.length === 0 ? "exit, signal" : undefined}
          disabled={!isEditable}
          data={ENDINGS}
          value={endings}
          onChange={(chosen) => write({ for: chosen })}
        />
      )}
      <Group gap={6} grow align="flex-start">
        <SettledInput
          size="xs"
          label="Timeout"
          placeholder="as the flow says"
          disabled={!isEditable}
          written={String(timeout ?? "")}
          check={checkDuration}
          onSettle={(text) => set(["timeout"], text || undefined)}
        />
        <NumberInput
          size="xs"
          label="Priority"
          placeholder="0"
          min={-100}
          max={100}
          disabled={!isEditable}
          value={typeof priority === "number" ? priority : ""}
          onChange={(given) => set(["priority"], given === "" ? undefined : Number(given))}
        />
      </Group>
      <Select
        size="xs"
        label="Use the result of an earlier run"
        description="Where inputs, parameters and code are the same."
        disabled={!isEditable}
        placeholder="as the flow says"
        clearable
        clearButtonProps={{ "aria-label": "As the flow says" }}
        data={[
          { value: "true", label: "yes" },
          { value: "false", label: "no, always run" },
        ]}
        value={remember === undefined || isReference(remember) ? null : String(remember)}
        onChange={(chosen) => set(["remember"], chosen === null ? undefined : chosen === "true")}
      />
    </Part>
  );
}

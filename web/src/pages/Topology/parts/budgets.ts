import type { EgressBudget, EgressBudgetPut } from "../../../api/shapes";
import { shellQuote } from "../../../lib/names";

const GIGABYTE = 1e9;

/** What somebody writes: money or gigabytes in a month; an empty project is all of them together. */
export interface BudgetDraft {
  project: string | null;
  money: number | string;
  gigabytes: number | string;
  warn: number | string;
}

export function budgetDraft(budget: EgressBudget | undefined): BudgetDraft {
  return {
    project: budget?.project ?? null,
    money: budget?.money ?? "",
    gigabytes: budget?.bytes == null ? "" : budget.bytes / GIGABYTE,
    warn: budget?.warn_percent ?? 80,
  };
}

/** Null unless it is either money or bytes. */
export function budgetOf({ money, gigabytes, warn }: BudgetDraft): EgressBudgetPut | null {
  if ((money === "") === (gigabytes === "") || warn === "") return null;
  return {
    money: money === "" ? null : Number(money),
    bytes: gigabytes === "" ? null : Math.round(Number(gigabytes) * GIGABYTE),
    warn_percent: Number(warn),
  };
}

export function budgetCommand(project: string | null, budget: EgressBudgetPut | null): string {
  const words = ["mill egress budget set"];
  if (project) words.push(`--project ${shellQuote(project)}`);
  if (budget?.money != null) words.push(`--money ${budget.money}`);
  if (budget?.bytes != null) words.push(`--bytes ${budget.bytes / GIGABYTE}GB`);
  if (budget && budget.warn_percent !== 80) words.push(`--warn ${budget.warn_percent}%`);
  return words.join(" ");
}

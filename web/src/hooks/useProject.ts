/** The project chosen in the top bar, which lists show alone. Remembered in this browser, for each user apart. */
import { useSyncExternalStore } from "react";
import { queries, SESSION_KEY } from "../api/client";
import { projectsQuery } from "../api/projects";
import type { Session } from "../api/shapes";
import { readChoice, writeChoice } from "../lib/storage";

const listeners = new Set<() => void>();
// Used where storage is forbidden, too.
const chosen = new Map<string, string>();

function place(): string {
  return `project.${queries.getQueryData<Session>(SESSION_KEY)?.user.id ?? ""}`;
}

/** Undefined for all projects. */
export function chosenProject(): string | undefined {
  const key = place();
  return (chosen.get(key) ?? readChoice(key)) || undefined;
}

export function chooseProject(project: string | undefined): void {
  if (project === chosenProject()) return;
  chosen.set(place(), project ?? "");
  writeChoice(place(), project ?? "");
  for (const listener of listeners) listener();
}

export function useChosenProject(): string | undefined {
  return useSyncExternalStore(subscribe, chosenProject);
}

/** The chosen one, if it still exists and the viewer has a role in it. */
export async function usableProject(): Promise<string | undefined> {
  const project = chosenProject();
  if (!project) return undefined;
  const { items } = await queries.ensureQueryData(projectsQuery);
  return items.some(({ name }) => name === project) ? project : undefined;
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

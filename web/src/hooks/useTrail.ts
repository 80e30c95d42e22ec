import { useState } from "react";

/**
 * Where one is in a list that is read a page at a time. The server's cursors only lead on, so those that led here are
 * remembered, also over a reload: the address holds the number of the page, and coming back to it finds it again.
 */
export interface Trail {
  /** Of the page that is shown; undefined for the first. */
  cursor: string | undefined;
  number: number;
  /** The number to show next, once it is known where that page begins. */
  on: (next: string) => number;
}

const KEY = "millpond.trails";
// The lists that were turned last.
const MOST = 20;

const trails = remembered();

/** `list` says what is listed and how it was narrowed: another list begins at its beginning. */
export function useTrail(list: string, wanted: number | undefined): Trail {
  const [, draw] = useState(0);
  const cursors = trails.get(list) ?? [];
  const number = Math.min(wanted ?? 1, cursors.length + 1);
  return {
    cursor: cursors[number - 2],
    number,
    on: (next) => {
      remember(list, [...cursors.slice(0, number - 1), next]);
      draw((count) => count + 1);
      return number + 1;
    },
  };
}

function remembered(): Map<string, string[]> {
  try {
    return new Map(JSON.parse(window.sessionStorage.getItem(KEY) ?? "[]"));
  } catch {
    return new Map();
  }
}

function remember(list: string, cursors: string[]) {
  trails.delete(list);
  trails.set(list, cursors);
  try {
    window.sessionStorage.setItem(KEY, JSON.stringify([...trails].slice(-MOST)));
  } catch {
    // A browser that keeps nothing: then a reload begins at the beginning.
  }
}

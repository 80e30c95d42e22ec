import { useState } from "react";

/**
 * Where one is in a list that is read a page at a time. The server's cursors only lead on, so those that led here are
 * remembered: the address holds the number of the page, and coming back to it (from one of its rows) finds it again.
 */
export interface Trail {
  /** Of the page that is shown; undefined for the first. */
  cursor: string | undefined;
  number: number;
  /** The number to show next, once it is known where that page begins. */
  on: (next: string) => number;
}

const trails = new Map<string, string[]>();

/** `list` says what is listed and how it was narrowed: another list begins at its beginning. */
export function useTrail(list: string, wanted: number | undefined): Trail {
  const [, draw] = useState(0);
  const cursors = trails.get(list) ?? [];
  const number = Math.min(wanted ?? 1, cursors.length + 1);
  return {
    cursor: cursors[number - 2],
    number,
    on: (next) => {
      trails.set(list, [...cursors.slice(0, number - 1), next]);
      draw((count) => count + 1);
      return number + 1;
    },
  };
}

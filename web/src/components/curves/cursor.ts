/** Where somebody points at in a group of charts: all of them show their values there. */
import { createContext, useContext, useSyncExternalStore } from "react";

export interface Cursor {
  /** On the common axis; null while no chart is pointed at. */
  readonly x: number | null;
  /** The chart that is pointed at. */
  readonly chart: string | null;
  /** The run whose lines are highlighted. */
  readonly run: string | null;
}

const NOWHERE: Cursor = { x: null, chart: null, run: null };

/** Outside React: it changes with every movement of the mouse, and listeners are told once per frame. */
export class CursorStore {
  private cursor = NOWHERE;
  private readonly listeners = new Set<() => void>();
  private frame: number | null = null;

  readonly get = (): Cursor => this.cursor;

  readonly subscribe = (listener: () => void): (() => void) => {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  };

  set(part: Partial<Cursor>): void {
    this.cursor = { ...this.cursor, ...part };
    this.frame ??= requestAnimationFrame(() => {
      this.frame = null;
      for (const listener of this.listeners) listener();
    });
  }
}

export const CursorContext = createContext(new CursorStore());

export function useCursorStore(): CursorStore {
  return useContext(CursorContext);
}

export function useCursor(): Cursor {
  const store = useCursorStore();
  return useSyncExternalStore(store.subscribe, store.get);
}

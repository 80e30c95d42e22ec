/** The text of a flow with undo and redo. Edits of one kind that follow each other quickly are one step back. */
import { useMemo, useReducer } from "react";

const TOGETHER_MS = 800;
const MOST = 200;

interface History {
  text: string;
  before: readonly string[];
  after: readonly string[];
  /** Kind and time of the last edit. */
  last: { kind: string; at: number };
}

export type Change =
  | { do: "edit"; kind: string; at: number; edit: (text: string) => string }
  | { do: "undo" }
  | { do: "redo" }
  | { do: "restart"; text: string };

export function startHistory(text: string): History {
  return { text, before: [], after: [], last: { kind: "", at: 0 } };
}

export function changeHistory(history: History, change: Change): History {
  const { text, before, after } = history;
  const last = { kind: "", at: 0 };
  if (change.do === "restart") return startHistory(change.text);
  if (change.do === "undo") {
    const back = before.at(-1);
    return back === undefined
      ? history
      : { text: back, before: before.slice(0, -1), after: [text, ...after], last };
  }
  if (change.do === "redo") {
    const [next, ...rest] = after;
    return next === undefined ? history : { text: next, before: [...before, text], after: rest, last };
  }
  const edited = change.edit(text);
  if (edited === text) return history;
  const joins =
    change.kind === history.last.kind && change.at - history.last.at < TOGETHER_MS && before.length > 0;
  return {
    text: edited,
    before: joins ? before : [...before, text].slice(-MOST),
    after: [],
    last: { kind: change.kind, at: change.at },
  };
}

export interface FlowText {
  text: string;
  canUndo: boolean;
  canRedo: boolean;
  /** `kind` says which edits belong together: `params.lr`, `yaml`, `move`. */
  edit: (kind: string, edit: (text: string) => string) => void;
  undo: () => void;
  redo: () => void;
  /** Another text, with nothing to undo. */
  restart: (text: string) => void;
}

export function useFlowText(initial: string): FlowText {
  const [history, change] = useReducer(changeHistory, initial, startHistory);
  const actions = useMemo(
    () => ({
      edit: (kind: string, edit: (text: string) => string) =>
        change({ do: "edit", kind, at: Date.now(), edit }),
      undo: () => change({ do: "undo" }),
      redo: () => change({ do: "redo" }),
      restart: (text: string) => change({ do: "restart", text }),
    }),
    [],
  );
  return {
    text: history.text,
    canUndo: history.before.length > 0,
    canRedo: history.after.length > 0,
    ...actions,
  };
}

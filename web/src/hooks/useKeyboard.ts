/** Single keys and two-key sequences of the whole page; none while somebody types or a dialog is open. */
import { useEffect } from "react";

const SEQUENCE_MS = 1_200;

export type Bindings = Readonly<Record<string, () => void>>;

export function isTyping(target: EventTarget | null): boolean {
  if (!(target instanceof HTMLElement)) return false;
  return target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName);
}

/** True for arrow keys in something that uses them itself: players, boxes that scroll, rows of tabs. */
function isUsedInside({ key, target }: KeyboardEvent): boolean {
  if (!key.startsWith("Arrow") || !(target instanceof HTMLElement)) return false;
  return target.closest("audio, video, pre, [role=tablist], [role=menu], .preview-sheet") !== null;
}

/** `bindings` maps `?`, `/` or `g d` to what it does. Calls follow the newest bindings given. */
export function useKeyboard(bindings: Bindings, enabled: boolean): void {
  useEffect(() => {
    if (!enabled) return;
    let first: { key: string; at: number } | null = null;
    const listen = (event: KeyboardEvent) => {
      if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
      if (isUsedInside(event)) return;
      if (isTyping(event.target) || document.querySelector('[role="dialog"]')) return;
      const begun = first && event.timeStamp - first.at < SEQUENCE_MS ? `${first.key} ${event.key}` : null;
      first = { key: event.key, at: event.timeStamp };
      const action = (begun && bindings[begun]) || bindings[event.key];
      if (!action) return;
      first = null;
      event.preventDefault();
      action();
    };
    window.addEventListener("keydown", listen);
    return () => window.removeEventListener("keydown", listen);
  }, [bindings, enabled]);
}

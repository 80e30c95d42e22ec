import { useEffect } from "react";
import { isTyping } from "../../../hooks/useKeyboard";
import type { FlowText } from "./history";

/** Ctrl+Z, Ctrl+Shift+Z and Ctrl+Y outside of fields, which undo what is typed themselves. */
export function useUndoKeys({ undo, redo }: Pick<FlowText, "undo" | "redo">): void {
  useEffect(() => {
    const listen = (event: KeyboardEvent) => {
      if (!(event.ctrlKey || event.metaKey) || isTyping(event.target)) return;
      const key = event.key.toLowerCase();
      if (key !== "z" && key !== "y") return;
      event.preventDefault();
      if (key === "y" || event.shiftKey) redo();
      else undo();
    };
    window.addEventListener("keydown", listen);
    return () => window.removeEventListener("keydown", listen);
  }, [undo, redo]);
}

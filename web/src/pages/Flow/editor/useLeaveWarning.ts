import { useBlocker } from "@tanstack/react-router";
import { useRef } from "react";

const QUESTION = "Your changes to this flow are not saved. Leave without saving them?";

/** Asks before unsaved changes are left. Returns a function that lets the next leaving pass. */
export function useLeaveWarning(isChanged: boolean): () => void {
  const mayLeave = useRef(false);
  useBlocker({
    shouldBlockFn: ({ current, next }) => {
      if (!isChanged || mayLeave.current || current.pathname === next.pathname) return false;
      return !window.confirm(QUESTION);
    },
    enableBeforeUnload: () => isChanged && !mayLeave.current,
  });
  return () => {
    mayLeave.current = true;
  };
}

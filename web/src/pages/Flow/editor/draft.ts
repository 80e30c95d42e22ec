/** A saved flow while somebody changes it: what was loaded, what is unsaved, and what others saved meanwhile. */
import { useEffect, useState } from "react";
import type { Flow } from "../../../api/shapes";
import { type FlowText, useFlowText } from "./history";

export interface Draft extends FlowText {
  /** The version that the changes are based on. */
  base: Flow;
  isChanged: boolean;
  /** A version that was saved elsewhere while this one has unsaved changes. */
  newer: Flow | null;
  /** Go on from what was just saved. */
  accept: (saved: Flow, text: string) => void;
  /** Replace the text by the newer version; undo brings one's own back. */
  takeNewer: () => void;
  /** Keep the text and base it on the newer version, so that it can be saved over it. */
  keepMine: () => void;
}

/** `loaded` is what the server has now. Without unsaved changes the text follows it. */
export function useDraft(loaded: Flow): Draft {
  const written = useFlowText(loaded.text ?? "");
  const [base, setBase] = useState(loaded);
  const { text, restart, edit } = written;
  const isChanged = text !== base.text;
  const isElsewhere = Date.parse(loaded.saved_at) > Date.parse(base.saved_at) || loaded.newest > base.newest;
  useEffect(() => {
    if (!isElsewhere || (isChanged && text !== loaded.text)) return;
    setBase(loaded);
    if (text !== loaded.text) restart(loaded.text ?? "");
  }, [isElsewhere, isChanged, loaded, text, restart]);
  return {
    ...written,
    base,
    isChanged,
    newer: isElsewhere && isChanged && loaded.newest > base.newest ? loaded : null,
    accept: (saved, submitted) => setBase({ ...base, ...saved, files: base.files, text: submitted }),
    takeNewer: () => {
      setBase(loaded);
      edit("load", () => loaded.text ?? "");
    },
    keepMine: () => setBase({ ...loaded, text: base.text }),
  };
}

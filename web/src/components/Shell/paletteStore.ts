/** Whether the palette is open, as something that can be asked at any moment, and the letters that come too early. */
import { createSpotlight } from "@mantine/spotlight";
import { type Dispatch, type SetStateAction, useEffect } from "react";
import { isTyping } from "../../hooks/useKeyboard";

export const [paletteStore, palette] = createSpotlight();

/** Letters typed after Ctrl-K and before the field has the focus belong into the field, however slow the machine is. */
export function useEarlyLetters(setQuery: Dispatch<SetStateAction<string>>): void {
  useEffect(() => {
    const listen = (event: KeyboardEvent) => {
      if (!paletteStore.getState().opened || isTyping(event.target)) return;
      const types = [...event.key].length === 1 && !event.ctrlKey && !event.metaKey && !event.altKey;
      if (types) setQuery((query) => query + event.key);
      else if (event.key === "Backspace") setQuery((query) => query.slice(0, -1));
      else return;
      event.preventDefault();
    };
    // Before everything else that listens: these keys mean nothing but themselves.
    window.addEventListener("keydown", listen, { capture: true });
    return () => window.removeEventListener("keydown", listen, { capture: true });
  }, [setQuery]);
}

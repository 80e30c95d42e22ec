import { type RefObject, useLayoutEffect, useState } from "react";

const LEAST = 320;
const MARGIN = 24;

/** Pixels from the top of an element to the bottom of the window, so that its end is in sight. `above`: what moves it. */
export function useRoomBelow(
  element: RefObject<HTMLElement | null>,
  isThere: boolean,
  above?: string | boolean,
): number {
  const [room, setRoom] = useState(LEAST);
  // biome-ignore lint/correctness/useExhaustiveDependencies: it is measured again when what is above it changes
  useLayoutEffect(() => {
    const measure = () => {
      const top = (element.current?.getBoundingClientRect().top ?? 0) + window.scrollY;
      if (isThere) setRoom(Math.max(LEAST, window.innerHeight - top - MARGIN));
    };
    measure();
    window.addEventListener("resize", measure);
    // What stands above may come and go.
    const observer = new ResizeObserver(measure);
    observer.observe(document.body);
    return () => {
      window.removeEventListener("resize", measure);
      observer.disconnect();
    };
  }, [element, isThere, above]);
  return room;
}

import { useVirtualizer } from "@tanstack/react-virtual";
import Anser from "anser";
import { memo, useEffect, useLayoutEffect, useRef } from "react";
import { useRoomBelow } from "../../../hooks/useRoomBelow";
import type { LogLine } from "../../../lib/log";

const LINE_PIXELS = 18;
/** So near to an edge, more is read. */
const EDGE_LINES = 200;

interface Props {
  lines: readonly LogLine[];
  /** Nothing more will come. */
  ended: boolean;
  wrap: boolean;
  follow: boolean;
  /** The line to bring into sight, whenever it is another one than before; and how to mark it. */
  target: { index: number; key: string } | null;
  isHit: (line: LogLine) => boolean;
  onScrolledUp: () => void;
  /** Asked for when the reader comes near the edge; says how many lines were put before the others. */
  onEarlier: () => Promise<number>;
  onLater: () => Promise<void>;
}

/** A million lines cost no more than the few that are in sight. */
export function LogLines({
  lines,
  ended,
  wrap,
  follow,
  target,
  isHit,
  onScrolledUp,
  onEarlier,
  onLater,
}: Props) {
  const box = useRef<HTMLDivElement>(null);
  const room = useRoomBelow(box, lines.length > 0);
  const isReading = useRef(false);
  // More is read where a person scrolls to, and not where a jump happens to pass.
  const byHand = useRef(false);
  const virtual = useVirtualizer({
    count: lines.length,
    getScrollElement: () => box.current,
    estimateSize: () => LINE_PIXELS,
    overscan: 20,
  });

  // Another height for every line: measure anew.
  // biome-ignore lint/correctness/useExhaustiveDependencies: it is the wrapping that changes the heights
  useLayoutEffect(() => virtual.measure(), [wrap, virtual]);

  useEffect(() => {
    if (follow && lines.length > 0) virtual.scrollToIndex(lines.length - 1, { align: "end" });
  }, [follow, lines.length, virtual]);

  const wanted = target?.index ?? -1;
  // biome-ignore lint/correctness/useExhaustiveDependencies: a target is gone to once
  useEffect(() => {
    byHand.current = false;
    if (wanted >= 0) virtual.scrollToIndex(wanted, { align: "center" });
  }, [target?.key]);

  async function readMore() {
    const range = virtual.range;
    if (!byHand.current || isReading.current || !range || lines.length === 0) return;
    isReading.current = true;
    try {
      if (range.startIndex < EDGE_LINES && !follow) {
        const more = await onEarlier();
        // What was in sight stays where it was.
        if (more > 0)
          requestAnimationFrame(() => virtual.scrollToIndex(range.startIndex + more, { align: "start" }));
      }
      if (range.endIndex > lines.length - EDGE_LINES) await onLater();
    } finally {
      isReading.current = false;
    }
  }

  if (lines.length === 0) return <div className="log">{ended ? "No output." : "No output yet."}</div>;
  return (
    <div
      ref={box}
      className="log"
      style={{ maxHeight: room }}
      data-wrap={wrap || undefined}
      role="log"
      aria-label="Output of the job"
      aria-live="off"
      // biome-ignore lint/a11y/noNoninteractiveTabindex: a box that scrolls must be reachable by keyboard
      tabIndex={0}
      onScroll={() => void readMore()}
      onPointerDown={() => {
        byHand.current = true;
      }}
      onWheel={(event) => {
        byHand.current = true;
        if (event.deltaY < 0) onScrolledUp();
      }}
      onKeyDown={(event) => {
        byHand.current = true;
        if (["PageUp", "ArrowUp", "Home"].includes(event.key)) onScrolledUp();
      }}
    >
      <div style={{ height: virtual.getTotalSize(), position: "relative" }}>
        {virtual.getVirtualItems().map((item) => {
          const line = lines[item.index];
          return (
            <div
              key={item.key}
              ref={wrap ? virtual.measureElement : undefined}
              data-index={item.index}
              className="log-line"
              data-hit={line && isHit(line) ? (item.index === wanted ? "current" : "other") : undefined}
              data-notice={line?.notice || undefined}
              style={{ transform: `translateY(${item.start}px)` }}
            >
              <LogText text={line?.text ?? ""} />
            </div>
          );
        })}
      </div>
    </div>
  );
}

/** One line with its ANSI colours; React writes every piece as text, so nothing in it is taken for markup. */
const LogText = memo(function LogText({ text }: { text: string }) {
  if (!text.includes("\u001b")) return text;
  return Anser.ansiToJson(text, { remove_empty: true }).map((piece, index) => (
    <span key={index} style={styleOf(piece)}>
      {piece.content}
    </span>
  ));
});

function styleOf(piece: Anser.AnserJsonEntry): React.CSSProperties {
  const colour = (rgb: string | null) => (rgb ? `rgb(${rgb})` : undefined);
  const has = (decoration: Anser.DecorationName) => piece.decorations.includes(decoration);
  return {
    color: colour(piece.fg),
    background: colour(piece.bg),
    fontWeight: has("bold") ? 700 : undefined,
    fontStyle: has("italic") ? "italic" : undefined,
    textDecoration: has("underline") ? "underline" : undefined,
    opacity: has("dim") ? 0.75 : undefined,
  };
}

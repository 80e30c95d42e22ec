import { useVirtualizer } from "@tanstack/react-virtual";
import Anser from "anser";
import { memo, useEffect, useRef } from "react";

const LINE_PIXELS = 18;

interface Props {
  lines: readonly string[];
  follow: boolean;
  /** Somebody scrolls back to read: following would tear the text away. */
  onScrolledUp: () => void;
}

/** A million lines cost no more than the few that are in sight. */
export function LogLines({ lines, follow, onScrolledUp }: Props) {
  const box = useRef<HTMLDivElement>(null);
  const virtual = useVirtualizer({
    count: lines.length,
    getScrollElement: () => box.current,
    estimateSize: () => LINE_PIXELS,
    overscan: 20,
  });
  useEffect(() => {
    if (follow && lines.length > 0 && box.current) box.current.scrollTop = box.current.scrollHeight;
  }, [follow, lines.length]);

  if (lines.length === 0) return <div className="log">No output yet.</div>;
  return (
    <div
      ref={box}
      className="log"
      role="log"
      aria-label="Output of the job"
      aria-live="off"
      // biome-ignore lint/a11y/noNoninteractiveTabindex: a box that scrolls must be reachable by keyboard
      tabIndex={0}
      onWheel={(event) => event.deltaY < 0 && onScrolledUp()}
      onKeyDown={(event) => ["PageUp", "ArrowUp", "Home"].includes(event.key) && onScrolledUp()}
    >
      <div style={{ height: virtual.getTotalSize(), position: "relative" }}>
        {virtual.getVirtualItems().map((item) => (
          <div key={item.key} className="log-line" style={{ transform: `translateY(${item.start}px)` }}>
            <LogLine text={lines[item.index] ?? ""} />
          </div>
        ))}
      </div>
    </div>
  );
}

/** One line with its ANSI colours; React writes every piece as text, so nothing in it is taken for markup. */
const LogLine = memo(function LogLine({ text }: { text: string }) {
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

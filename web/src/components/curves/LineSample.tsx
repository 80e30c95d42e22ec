/** A short piece of a line, as it is drawn: its colour and whether it is dashed. */
export function LineSample({ color, dash }: { color: string; dash: readonly number[] }) {
  return (
    <svg width={18} height={8} aria-hidden style={{ flex: "none" }}>
      <title>line</title>
      <line x1={0} y1={4} x2={18} y2={4} stroke={color} strokeWidth={2.5} strokeDasharray={dash.join(" ")} />
    </svg>
  );
}

/** A field that changes the flow when it is left, Enter is pressed or, if `isLive`, typing pauses: reading a large flow anew
 *  for each letter would make typing slow. */
import { Textarea, TextInput, type TextInputProps } from "@mantine/core";
import { useEffect, useRef, useState } from "react";

interface Props extends Omit<TextInputProps, "value" | "onChange" | "error"> {
  /** As the flow has it. */
  written: string;
  onSettle: (text: string) => void;
  /** Why the text cannot be taken; null if it can. */
  check?: (text: string) => string | null;
  /** Several lines. */
  isLong?: boolean;
  /** What is half typed is a value, too. */
  isLive?: boolean;
}

const PAUSE_MS = 350;

export function SettledInput({ written, onSettle, check, isLong = false, isLive = false, ...rest }: Props) {
  const [text, setText] = useState(written);
  useEffect(() => setText(written), [written]);
  const wrong = text === written ? null : (check?.(text) ?? null);
  const settle = () => {
    if (wrong === null && text !== written) onSettle(text);
  };
  const newest = useRef(settle);
  newest.current = settle;
  // biome-ignore lint/correctness/useExhaustiveDependencies: each letter begins the pause anew
  useEffect(() => {
    if (!isLive) return;
    const timer = setTimeout(() => newest.current(), PAUSE_MS);
    return () => clearTimeout(timer);
  }, [isLive, text]);
  const common = {
    ...rest,
    value: text,
    error: wrong,
    onBlur: settle,
  };
  if (isLong) {
    const { ref: _, ...area } = common as TextInputProps & { ref?: unknown };
    return (
      <Textarea
        {...(area as object)}
        autosize
        minRows={2}
        maxRows={8}
        value={text}
        onChange={(event) => setText(event.currentTarget.value)}
        onKeyDown={(event) => {
          if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) settle();
        }}
      />
    );
  }
  return (
    <TextInput
      {...common}
      onChange={(event) => setText(event.currentTarget.value)}
      onKeyDown={(event) => {
        if (event.key === "Enter") settle();
        if (event.key === "Escape") setText(written);
      }}
    />
  );
}

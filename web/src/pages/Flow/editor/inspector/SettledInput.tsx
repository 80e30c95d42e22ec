/** A field that changes the flow when it is left or Enter is pressed: what is half typed is nobody's value yet. */
import { Textarea, TextInput, type TextInputProps } from "@mantine/core";
import { useEffect, useState } from "react";

interface Props extends Omit<TextInputProps, "value" | "onChange" | "error"> {
  /** As the flow has it. */
  written: string;
  onSettle: (text: string) => void;
  /** Why the text cannot be taken; null if it can. */
  check?: (text: string) => string | null;
  /** Several lines. */
  isLong?: boolean;
}

export function SettledInput({ written, onSettle, check, isLong = false, ...rest }: Props) {
  const [text, setText] = useState(written);
  useEffect(() => setText(written), [written]);
  const wrong = text === written ? null : (check?.(text) ?? null);
  const settle = () => {
    if (wrong === null && text !== written) onSettle(text);
  };
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

import { TextInput } from "@mantine/core";
import { useDebouncedCallback } from "@mantine/hooks";
import { IconSearch } from "@tabler/icons-react";
import { useState } from "react";

interface Props {
  label: string;
  value: string;
  onChange: (value: string) => void;
}

/** The search field of a list, focused by `/`. Tells of a change when typing has paused. */
export function Filter({ label, value, onChange }: Props) {
  const [text, setText] = useState(value);
  const tell = useDebouncedCallback(onChange, 200);
  return (
    <TextInput
      type="search"
      aria-label={label}
      placeholder={`${label}  (press /)`}
      leftSection={<IconSearch size={16} aria-hidden />}
      value={text}
      data-filter
      w={280}
      onChange={(event) => {
        setText(event.currentTarget.value);
        tell(event.currentTarget.value);
      }}
    />
  );
}

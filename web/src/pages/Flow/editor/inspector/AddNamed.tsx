import { ActionIcon, TextInput } from "@mantine/core";
import { IconPlus } from "@tabler/icons-react";
import { useState } from "react";

const NAME = /^[A-Za-z_][A-Za-z0-9_]*$/;

/** Why a name of a parameter or port cannot be used; null if it can. */
export function checkName(name: string, taken: readonly string[]): string | null {
  if (taken.includes(name)) return "Already there.";
  return NAME.test(name) ? null : "Use letters, digits and _.";
}

interface Props {
  what: "parameter" | "output" | "list";
  taken: readonly string[];
  isFocused?: boolean;
  onAdd: (name: string) => void;
}

/** A field whose name becomes one more of something. */
export function AddNamed({ what, taken, isFocused = false, onAdd }: Props) {
  const [name, setName] = useState("");
  const wrong = name ? checkName(name, taken) : null;
  const add = () => {
    if (!name || wrong) return;
    onAdd(name);
    setName("");
  };
  return (
    <TextInput
      size="xs"
      autoFocus={isFocused}
      aria-label={`Name of a new ${what}`}
      placeholder={`Add ${what === "output" ? "an" : "a"} ${what}: its name`}
      value={name}
      error={wrong}
      onChange={(event) => setName(event.currentTarget.value)}
      onKeyDown={(event) => event.key === "Enter" && add()}
      rightSection={
        <ActionIcon
          variant="subtle"
          size="sm"
          aria-label={`Add the ${what}`}
          onClick={add}
          disabled={!name || wrong !== null}
        >
          <IconPlus size={14} />
        </ActionIcon>
      }
    />
  );
}

import { ActionIcon, Box, Combobox, Text, TextInput, useCombobox } from "@mantine/core";
import { IconFilter, IconX } from "@tabler/icons-react";
import { useLayoutEffect, useRef, useState } from "react";
import { ApiError } from "../../../api/problem";
import type { RunKeys } from "../../../api/shapes";
import { complete, completionOf, conditionOf } from "./completion";

interface Props {
  value: string;
  onChange: (filter: string | undefined) => void;
  keys: RunKeys | undefined;
  /** Why the server could not read it. */
  error: unknown;
}

/** A condition on runs: names, signs and values are offered while it is typed; Enter asks for it. */
export function FilterBox({ value, onChange, keys, error }: Props) {
  const [text, setText] = useState(value);
  const [given, setGiven] = useState(value);
  const [cursor, setCursor] = useState(value.length);
  const input = useRef<HTMLInputElement>(null);
  /** Where the cursor belongs once the text is drawn: at once, so that what is typed next stands there. */
  const placed = useRef<number | null>(null);
  useLayoutEffect(() => {
    if (placed.current === null) return;
    input.current?.setSelectionRange(placed.current, placed.current);
    placed.current = null;
  });
  const box = useCombobox();
  // Taken over where it changed from elsewhere: a view, a group, the browser's back button.
  if (given !== value) {
    setGiven(value);
    setText(value);
  }
  const offered = completionOf(text, cursor, keys);
  const ask = (written: string) => {
    const condition = conditionOf(written);
    setText(condition);
    box.closeDropdown();
    if (condition !== value) onChange(condition || undefined);
  };
  const choose = (option: string) => {
    const [after, place] = complete(text, offered, option);
    setText(after);
    setCursor(place);
    placed.current = place;
  };
  return (
    <Box flex="1 1 340px" maw={720}>
      <Combobox store={box} onOptionSubmit={choose} width="target" position="bottom-start">
        <Combobox.Target withExpandedAttribute>
          <TextInput
            ref={input}
            aria-label="Filter runs"
            placeholder="Name, or a condition: metrics.acc > 0.9 and params.lr = '0.1'"
            leftSection={<IconFilter size={16} aria-hidden />}
            rightSection={
              text && (
                <ActionIcon
                  variant="subtle"
                  color="gray"
                  size="sm"
                  aria-label="Clear filter"
                  onClick={() => ask("")}
                >
                  <IconX size={14} />
                </ActionIcon>
              )
            }
            value={text}
            error={error instanceof ApiError ? <Mistake error={error} filter={value} /> : undefined}
            spellCheck={false}
            autoComplete="off"
            data-filter
            classNames={{ input: text ? "mono" : undefined }}
            onChange={(event) => {
              setText(event.currentTarget.value);
              setCursor(event.currentTarget.selectionStart ?? event.currentTarget.value.length);
              box.openDropdown();
              box.resetSelectedOption();
            }}
            onSelect={(event) => setCursor(event.currentTarget.selectionStart ?? text.length)}
            onClick={() => box.openDropdown()}
            onBlur={() => {
              box.closeDropdown();
              ask(text);
            }}
            onKeyDown={(event) => {
              if (event.key === "Enter" && box.getSelectedOptionIndex() < 0) ask(text);
              if (
                event.key === "Tab" &&
                box.dropdownOpened &&
                offered.options[0] &&
                !event.shiftKey &&
                text !== value
              ) {
                event.preventDefault();
                choose(offered.options[0]);
              }
            }}
          />
        </Combobox.Target>
        <Combobox.Dropdown hidden={offered.options.length === 0}>
          <Combobox.Options mah={260} style={{ overflowY: "auto" }} aria-label="What can come next">
            {offered.options.map((option) => (
              <Combobox.Option key={option} value={option} className="mono">
                {option}
              </Combobox.Option>
            ))}
          </Combobox.Options>
        </Combobox.Dropdown>
      </Combobox>
    </Box>
  );
}

/** What is wrong, and below it the filter with the word in question marked. */
function Mistake({ error, filter }: { error: ApiError; filter: string }) {
  const { position, word } = error.details as { position?: number | null; word?: string | null };
  return (
    <>
      {error.message} {error.hint}
      {position != null && word && (
        <Text span inherit display="block" pb={4} className="mono" truncate aria-hidden>
          {filter.slice(Math.max(0, position - 40), position)}
          <mark className="wrong-word">{word}</mark>
          {filter.slice(position + word.length)}
        </Text>
      )}
    </>
  );
}

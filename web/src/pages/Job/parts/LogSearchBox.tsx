import { ActionIcon, Group, Text, TextInput, Tooltip } from "@mantine/core";
import { useDebouncedCallback } from "@mantine/hooks";
import { IconChevronDown, IconChevronUp, IconRegex, IconSearch } from "@tabler/icons-react";
import { useState } from "react";
import type { LogSearch } from "../../../api/logs";
import type { Searching } from "./useLogSearch";

interface Props {
  searching: Searching;
}

/** Looks through the whole log at the server; Enter and Shift+Enter go from hit to hit. */
export function LogSearchBox({ searching }: Props) {
  const [search, setSearch] = useState<LogSearch>({ text: "", regex: false });
  const tell = useDebouncedCallback(searching.start, 300);
  const change = (next: LogSearch) => {
    setSearch(next);
    tell(next);
  };
  return (
    <Group gap={4}>
      <TextInput
        type="search"
        size="xs"
        w={240}
        aria-label="Search the log"
        placeholder="Search the log"
        leftSection={<IconSearch size={14} aria-hidden />}
        value={search.text}
        error={searching.problem !== null}
        onChange={(event) => change({ ...search, text: event.currentTarget.value })}
        onKeyDown={(event) => {
          if (event.key === "Enter") searching.go(event.shiftKey ? -1 : 1);
        }}
      />
      <Tooltip label="Use a regular expression">
        <ActionIcon
          variant={search.regex ? "filled" : "default"}
          aria-label="Use a regular expression"
          aria-pressed={search.regex}
          onClick={() => change({ ...search, regex: !search.regex })}
        >
          <IconRegex size={16} aria-hidden />
        </ActionIcon>
      </Tooltip>
      <ActionIcon
        variant="default"
        aria-label="Previous match"
        disabled={searching.count === 0}
        onClick={() => searching.go(-1)}
      >
        <IconChevronUp size={16} aria-hidden />
      </ActionIcon>
      <ActionIcon
        variant="default"
        aria-label="Next match"
        disabled={searching.count === 0}
        onClick={() => searching.go(1)}
      >
        <IconChevronDown size={16} aria-hidden />
      </ActionIcon>
      <Text size="sm" c={searching.problem ? "red" : "dimmed"} role="status">
        {words(search, searching)}
      </Text>
    </Group>
  );
}

function words(search: LogSearch, searching: Searching): string {
  if (searching.problem) return searching.problem;
  if (!search.text) return "";
  if (searching.isGoing && searching.count === 0) return "Searching …";
  if (searching.count === 0) return "Not found";
  const more = searching.complete ? "" : "+";
  return `${searching.current + 1} of ${searching.count}${more}`;
}

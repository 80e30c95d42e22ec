import { Group, Text, UnstyledButton } from "@mantine/core";
import { IconChevronDown, IconChevronRight } from "@tabler/icons-react";
import { useState } from "react";
import { plural } from "../../../../lib/quantity";

/** Longer lists are shown a part at a time. */
const PART = 100;

interface Props {
  name?: string;
  value: unknown;
  opened?: boolean;
}

/** A value and, when it is opened, what lies in it. */
export function JsonTree({ name, value, opened = false }: Props) {
  const [open, setOpen] = useState(opened);
  if (typeof value !== "object" || value === null) {
    return (
      <div className="json-line">
        <Name name={name} />
        <Scalar value={value} />
      </div>
    );
  }
  const parts = Object.entries(value);
  const summary = Array.isArray(value) ? plural(parts.length, "item") : plural(parts.length, "key");
  const Arrow = open ? IconChevronDown : IconChevronRight;
  return (
    <div>
      <UnstyledButton className="json-line" aria-expanded={open} onClick={() => setOpen(!open)}>
        <Group gap={2} wrap="nowrap">
          <Arrow size={14} aria-hidden />
          <Name name={name} />
          <Text span c="dimmed" fz="inherit">
            {Array.isArray(value) ? `[ ${summary} ]` : `{ ${summary} }`}
          </Text>
        </Group>
      </UnstyledButton>
      {open && <Parts parts={parts} />}
    </div>
  );
}

function Parts({ parts }: { parts: [string, unknown][] }) {
  const [shown, setShown] = useState(PART);
  return (
    <div className="json-parts">
      {parts.slice(0, shown).map(([key, value]) => (
        <JsonTree key={key} name={key} value={value} />
      ))}
      {parts.length > shown && (
        <button type="button" className="text-button" onClick={() => setShown(shown + PART)}>
          {parts.length - shown} more
        </button>
      )}
    </div>
  );
}

function Name({ name }: { name: string | undefined }) {
  return name === undefined ? null : <span className="json-name">{name}: </span>;
}

function Scalar({ value }: { value: unknown }) {
  const kind = value === null ? "null" : typeof value;
  return <span className={`json-${kind}`}>{JSON.stringify(value)}</span>;
}

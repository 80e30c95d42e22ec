import { Group, Select, TextInput } from "@mantine/core";
import { useDebouncedCallback } from "@mantine/hooks";
import { useState } from "react";
import type { AuditFilter } from "../../../api/audit";
import { Filter } from "../../../components/Filter";

interface Props {
  filter: AuditFilter;
  /** Those that the person administers. */
  projects: string[];
  /** May see everything, of no project as well. */
  everything: boolean;
  onChange: (change: AuditFilter) => void;
}

/** What to look for; what is found stands in the address. */
export function Filters({ filter, projects, everything, onChange }: Props) {
  return (
    <Group gap="xs" align="flex-end">
      <Filter label="Find words" value={filter.q ?? ""} onChange={(q) => onChange({ q: q || undefined })} />
      <Field label="Who" value={filter.who} onChange={(who) => onChange({ who })} />
      <Field
        label="What"
        placeholder="user.create"
        value={filter.action}
        onChange={(action) => onChange({ action })}
      />
      <Field label="To what" value={filter.subject} onChange={(subject) => onChange({ subject })} />
      <Field label="Address" value={filter.address} onChange={(address) => onChange({ address })} />
      <Select
        label="Project"
        data={projects}
        value={filter.project ?? null}
        placeholder={everything ? "Everything" : undefined}
        clearable={everything}
        searchable
        w={160}
        onChange={(project) => onChange({ project: project ?? undefined })}
      />
      <Field label="Since" type="date" value={filter.since} onChange={(since) => onChange({ since })} />
      <Field label="Until" type="date" value={filter.until} onChange={(until) => onChange({ until })} />
    </Group>
  );
}

interface FieldProps {
  label: string;
  type?: string;
  placeholder?: string;
  value: string | undefined;
  onChange: (value: string | undefined) => void;
}

/** Tells of a change when typing has paused. */
function Field({ label, type, placeholder, value, onChange }: FieldProps) {
  const [text, setText] = useState(value ?? "");
  const tell = useDebouncedCallback((written: string) => onChange(written.trim() || undefined), 300);
  return (
    <TextInput
      label={label}
      type={type}
      placeholder={placeholder}
      value={text}
      w={140}
      onChange={(event) => {
        setText(event.currentTarget.value);
        tell(event.currentTarget.value);
      }}
    />
  );
}

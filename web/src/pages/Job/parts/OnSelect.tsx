import { Select } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { queuesQuery } from "../../../api/queues";
import { templatesQuery } from "../../../api/templates";

interface Props {
  value: string | null;
  onChange: (on: string | null) => void;
  placeholder?: string;
  description?: string;
}

/** A template or queue to run on; nothing where there are none. */
export function OnSelect({ value, onChange, placeholder = "none", description }: Props) {
  const templates = useQuery(templatesQuery).data?.items.map(({ name }) => name) ?? [];
  const queues = useQuery(queuesQuery).data?.items.map(({ name }) => name) ?? [];
  if (templates.length + queues.length === 0 && value === null) return null;
  const gone = value !== null && ![...templates, ...queues].includes(value);
  const groups = [
    { group: "Queues", items: queues },
    { group: "Templates", items: templates },
    { group: "No longer there", items: gone ? [value] : [] },
  ];
  return (
    <Select
      label="Run on"
      description={description}
      placeholder={placeholder}
      data={groups.filter(({ items }) => items.length > 0)}
      clearable
      clearButtonProps={{ "aria-label": "No template or queue" }}
      searchable
      value={value}
      onChange={onChange}
    />
  );
}

import { Select, SimpleGrid } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { refsQuery } from "../../../api/datasets";
import type { Job } from "../../../api/shapes";
import { Section } from "../../../components/Section";
import { shortId, splitWritten } from "../../../lib/names";
import { type Changes, withData } from "./changes";

interface Props {
  job: Job;
  changes: Changes;
  onChange: (changes: Changes) => void;
}

/** The commits it read, and branches and tags to read instead. */
export function AgainData({ job, changes, onChange }: Props) {
  if (job.inputs.length === 0) return null;
  return (
    <Section title="Data" bare>
      <SimpleGrid cols={{ base: 1, sm: 2 }}>
        {job.inputs.map((input) => (
          <Field key={input.env} input={input} changes={changes} onChange={onChange} />
        ))}
      </SimpleGrid>
    </Section>
  );
}

type Input = Job["inputs"][number];

function Field({ input, changes, onChange }: Omit<Props, "job"> & { input: Input }) {
  const { project, name } = splitWritten(input.dataset);
  const refs = useQuery(refsQuery({ project, dataset: name })).data?.items ?? [];
  const named = (type: "branch" | "tag") => refs.filter((ref) => ref.type === type).map((ref) => ref.name);
  const groups = [
    { group: "As before", items: [{ value: "", label: `${shortId(input.commit_id)} (the same commit)` }] },
    { group: "Branches", items: named("branch") },
    { group: "Tags", items: named("tag") },
  ];
  return (
    <Select
      label={input.dataset}
      data={groups.filter(({ items }) => items.length > 0)}
      value={changes.data[input.dataset] ?? ""}
      onChange={(ref) => onChange(withData(changes, input.dataset, ref || null))}
      allowDeselect={false}
      searchable
    />
  );
}

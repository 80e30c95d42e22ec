/** Inputs, outputs and parameters of a step: files as links with where they are cached, values as they are. */
import { Anchor, Code, Group, Stack, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { cachesOfDatasetQuery } from "../../../api/caches";
import { TextLink } from "../../../components/TextLink";
import { shortId } from "../../../lib/names";
import { type FilesPlace, filesPlace } from "./places";

/** Of a long list, so many are shown first. */
const SHOWN = 5;

export function StepValues({ title, values }: { title: string; values: Record<string, unknown> }) {
  const rows = Object.entries(values);
  if (rows.length === 0) return null;
  return (
    <section aria-label={title} className="flow-part">
      <Text size="sm" fw={600} py={6}>
        {title}
      </Text>
      <Stack gap={6} pb="sm">
        {rows.map(([name, value]) => (
          <div key={name}>
            <Text size="xs" c="dimmed">
              {name}
            </Text>
            <Value value={value} />
          </div>
        ))}
      </Stack>
    </section>
  );
}

function Value({ value }: { value: unknown }) {
  const [isWhole, setIsWhole] = useState(false);
  const place = filesPlace(value);
  if (place) return <FilesLink place={place} />;
  if (Array.isArray(value) && value.length > 0 && value.every((one) => filesPlace(one))) {
    const shown = isWhole ? value : value.slice(0, SHOWN);
    return (
      <Stack gap={2}>
        {shown.map((one, index) => (
          <FilesLink key={index} place={filesPlace(one) as FilesPlace} index={index} />
        ))}
        {shown.length < value.length && (
          <Anchor component="button" type="button" size="xs" ta="left" onClick={() => setIsWhole(true)}>
            {value.length - shown.length} more
          </Anchor>
        )}
      </Stack>
    );
  }
  return (
    <Code block className="flow-value">
      {typeof value === "string" ? value : JSON.stringify(value)}
    </Code>
  );
}

function FilesLink({ place, index }: { place: FilesPlace; index?: number }) {
  const { project, dataset, commit, path } = place;
  return (
    <Group gap={6} wrap="wrap">
      {index !== undefined && (
        <Text size="xs" c="dimmed">
          {index}
        </Text>
      )}
      <TextLink
        to="/projects/$project/datasets/$dataset"
        params={{ project, dataset }}
        search={{ tab: "files", ref: commit, path: path || undefined }}
        size="sm"
      >
        {dataset}@<span className="mono">{shortId(commit)}</span>
        {path && `:${path}`}
      </TextLink>
      <CachedOn place={place} />
    </Group>
  );
}

/** Where the files lie beside the compute. */
function CachedOn({ place: { project, dataset, commit } }: { place: FilesPlace }) {
  const cached = useQuery(cachesOfDatasetQuery({ project, dataset })).data?.items ?? [];
  const here = cached.filter((one) => one.commit_id === commit);
  if (here.length === 0) return null;
  return (
    <Text size="xs" c="dimmed">
      {here.map((one) => `${one.state === "ready" ? "cached on" : one.state} ${one.volume}`).join(", ")}
    </Text>
  );
}

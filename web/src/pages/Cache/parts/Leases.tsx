import { Text } from "@mantine/core";
import type { CachedCommit } from "../../../api/shapes";
import { TextLink } from "../../../components/TextLink";
import { Time } from "../../../components/Time";
import { splitWritten } from "../../../lib/names";

/** Who keeps a cached commit from being evicted. */
export function Leases({ cached }: { cached: CachedCommit }) {
  if (cached.leased_by.length === 0) return <>–</>;
  return cached.leased_by.map((holder) => (
    <Text key={holder.job ?? holder.user} size="sm" component="div">
      {holder.job ? <JobName written={holder.job} /> : holder.user}, <Time at={holder.since} />
    </Text>
  ));
}

function JobName({ written }: { written: string }) {
  const { project, name } = splitWritten(written);
  return (
    <TextLink to="/projects/$project/jobs/$job" params={{ project, job: name }} size="sm">
      {name}
    </TextLink>
  );
}

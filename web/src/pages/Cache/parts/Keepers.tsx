import { Text } from "@mantine/core";
import type { CachedCommit, LeaseHolder } from "../../../api/shapes";
import { JobLink } from "../../../components/JobLink";
import { Time } from "../../../components/Time";
import { splitWritten } from "../../../lib/names";

/** Who keeps a cached commit from going: leases, a pin, branches that are kept. */
export function Keepers({ cached }: { cached: CachedCommit }) {
  const { leased_by, pinned, pinned_by, kept_by } = cached;
  if (leased_by.length === 0 && !pinned && kept_by.length === 0) return <>–</>;
  return (
    <div className="row-name">
      {leased_by.map((holder) => (
        <Text key={`${holder.kind} ${holder.job ?? holder.user}`} size="sm" component="div">
          <Holder holder={holder} />
        </Text>
      ))}
      {pinned && <Text size="sm">pinned{pinned_by && ` by ${pinned_by}`}</Text>}
      {kept_by.map((branch) => (
        <Text key={branch} size="sm">
          {branch} is kept here
        </Text>
      ))}
    </div>
  );
}

const WORDS = { job: "", hold: "held by", read: "read by" } as const;

function Holder({ holder }: { holder: LeaseHolder }) {
  if (holder.job) {
    const { project, name } = splitWritten(holder.job);
    return (
      <>
        <JobLink project={project} job={name}>
          {name}
        </JobLink>
        , <Time at={holder.since} />
      </>
    );
  }
  if (holder.kind === "workspace") {
    return (
      <>
        workspace {holder.reason}, <Time at={holder.since} />
      </>
    );
  }
  return (
    <>
      {WORDS[holder.kind]} {holder.user}
      {holder.until && (
        <>
          , ends <Time at={holder.until} />
        </>
      )}
      {holder.reason && ` (${holder.reason})`}
    </>
  );
}

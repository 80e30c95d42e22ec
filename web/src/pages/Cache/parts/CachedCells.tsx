import { Text } from "@mantine/core";
import type { CachedCommit } from "../../../api/shapes";
import { Status } from "../../../components/Status";
import { TextLink } from "../../../components/TextLink";
import { Time } from "../../../components/Time";
import { shortId } from "../../../lib/names";
import { formatBytes, formatSeconds } from "../../../lib/quantity";
import { FillProgress } from "./FillProgress";
import { shownState } from "./state";
import { verificationWords } from "./verification";

interface Props {
  cached: CachedCommit;
}

export function Name({ cached }: Props) {
  return (
    <>
      <TextLink
        to="/projects/$project/datasets/$dataset"
        params={{ project: cached.project, dataset: cached.dataset }}
        // What jobs run and make has no branch that leads to it.
        search={cached.kind === "data" ? {} : { tab: "commit", ref: cached.commit_id }}
        size="sm"
        fw={600}
      >
        {cached.dataset}
      </TextLink>
      <Text size="xs" c="dimmed">
        {cached.project} <span className="mono">@{shortId(cached.commit_id)}</span>
        {cached.kind !== "data" && ` · ${cached.kind}`}
      </Text>
    </>
  );
}

export function State({ cached }: Props) {
  const verified = verificationWords(cached.verification);
  return (
    <>
      <Status state={shownState(cached)} />
      {cached.state === "filling" && !cached.waiting && <FillProgress fill={cached} />}
      {cached.leaving && <Note>Its dataset was deleted: it goes when the last lease ends.</Note>}
      {cached.problem && <Note color="red.9">{cached.problem}</Note>}
      {verified && <Note color={verified.bad ? "red.9" : "dimmed"}>{verified.words}</Note>}
    </>
  );
}

/** The size of its files, as everywhere; below, what it takes on the disk of the volume. */
export function Size({ cached }: Props) {
  return (
    <>
      <span className="unbroken">{formatBytes(cached.bytes)}</span>
      {sharing(cached).map((words) => (
        <Text key={words} size="xs" c="dimmed">
          {words}
        </Text>
      ))}
    </>
  );
}

export function sharing(cached: CachedCommit): string[] {
  const said: string[] = [];
  const onDisk = formatBytes(cached.allocated_bytes);
  // Whole blocks and directories make it a little more.
  if (cached.allocated_bytes > 0 && onDisk !== formatBytes(cached.bytes)) said.push(`${onDisk} on disk`);
  if (cached.state === "ready" && cached.freed_bytes < cached.allocated_bytes) {
    said.push(`clearing it frees ${formatBytes(cached.freed_bytes)}`);
  }
  if (cached.base) said.push(`shares files with ${shortId(cached.base)}`);
  return said;
}

const WHOSE = { commit: "its own", dataset: "its dataset's", volume: "its volume's" } as const;

const WITHOUT_A_TIME = {
  filling: "not before it is there",
  ready: "not while it is kept",
  evicting: "now",
  failed: "–",
} as const;

export function Expiry({ cached }: Props) {
  if (cached.pinned) return <>never (pinned)</>;
  return (
    <>
      {cached.expires_at ? <Time at={cached.expires_at} /> : WITHOUT_A_TIME[cached.state]}
      <Text size="xs" c="dimmed" miw={130}>
        {WHOSE[cached.idle_by]} idle time,{" "}
        <span className="unbroken">{formatSeconds(cached.idle_seconds)}</span>
      </Text>
    </>
  );
}

function Note({ color = "dimmed", children }: { color?: string; children: string }) {
  return (
    <Text size="xs" c={color} maw={240}>
      {children}
    </Text>
  );
}

import { Drawer, List, Stack, Text, Title } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { whyQuery } from "../../../api/cachePlans";
import type { CachedCommit, CacheWhy, CacheWhyOn } from "../../../api/shapes";
import { CommandLine, CopyIcon } from "../../../components/Copyable";
import { Loaded } from "../../../components/Loaded";
import { shellQuote, shortId } from "../../../lib/names";
import { cacheCommand, writtenOf } from "./commands";

export interface WhyOf {
  project: string;
  dataset: string;
  commit_id: string;
}

/** Where a commit is cached and why, or why it is not; and what the command line has for it. */
export function WhyDrawer({ cached, onClose }: { cached: WhyOf; onClose: () => void }) {
  const result = useQuery(whyQuery(cached.project, `${cached.dataset}@${cached.commit_id}`));
  return (
    <Drawer
      opened
      onClose={onClose}
      position="right"
      size="lg"
      title={`Why: ${cached.dataset}@${shortId(cached.commit_id)}`}
      closeButtonProps={{ "aria-label": "Close" }}
    >
      <Stack>
        <Loaded result={result}>{(why) => <Reasons why={why} />}</Loaded>
        <CommandLine command={`mill cache why ${shellQuote(writtenOf(cached))}`} />
      </Stack>
    </Drawer>
  );
}

function Reasons({ why }: { why: CacheWhy }) {
  return (
    <>
      <Sentences sentences={why.reasons} />
      {why.volumes.map((on) => (
        <OnVolume key={on.volume} on={on} />
      ))}
    </>
  );
}

function OnVolume({ on }: { on: CacheWhyOn }) {
  return (
    <section aria-label={`On ${on.volume}`}>
      <Title order={3} size="h5" mb={4}>
        On {on.volume} at {on.site}
      </Title>
      <Sentences sentences={on.reasons} />
      {on.cached && <Place cached={on.cached} />}
    </section>
  );
}

function Place({ cached }: { cached: CachedCommit }) {
  return (
    <Stack gap="xs" mt="xs">
      {cached.state === "ready" && (
        <Text size="sm" component="div" style={{ overflowWrap: "anywhere" }}>
          Its files: <span className="mono">{cached.path}</span>
          <CopyIcon value={cached.path} label="Copy the path" />
        </Text>
      )}
      <CommandLine command={cacheCommand("hold", cached, "--for 8h")} />
      <CommandLine command={cacheCommand(cached.pinned ? "unpin" : "pin", cached)} />
      <CommandLine command={cacheCommand("set", cached, "--idle 3d")} />
      <CommandLine command={cacheCommand("verify", cached)} />
      <CommandLine command={cacheCommand("clear", cached)} />
    </Stack>
  );
}

function Sentences({ sentences }: { sentences: string[] }) {
  if (sentences.length === 0) return null;
  return (
    <List size="sm" spacing={4}>
      {sentences.map((sentence) => (
        <List.Item key={sentence}>{sentence}</List.Item>
      ))}
    </List>
  );
}

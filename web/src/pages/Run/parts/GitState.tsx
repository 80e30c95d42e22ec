import { Paper, Stack, Text } from "@mantine/core";
import { CopyIcon } from "../../../components/Copyable";
import { Facts } from "../../../components/Facts";
import { Section } from "../../../components/Section";
import { plural } from "../../../lib/quantity";
import type { GitOrigin } from "./origin";
import { PatchView } from "./PatchView";

/** The commit of the repository the script lies in, and what was not committed. */
export function GitState({ git }: { git: GitOrigin }) {
  const facts = [
    {
      name: "Commit",
      value: (
        <>
          <span className="mono">{git.commit.slice(0, 12)}</span>
          <CopyIcon value={git.commit} label="Copy the commit" />
        </>
      ),
    },
    ...(git.branch ? [{ name: "Branch", value: git.branch }] : []),
    ...(git.url ? [{ name: "Repository", value: <Repository url={git.url} /> }] : []),
    {
      name: "Uncommitted changes",
      value: git.dirty.length === 0 && !git.diff ? "none" : plural(git.dirty.length, "file"),
    },
  ];
  return (
    <Section title="Git" bare>
      <Paper withBorder p="md">
        <Stack gap="sm">
          <Facts facts={facts} />
          {git.diff && <PatchView patch={git.diff} />}
          {!git.diff && git.dirty.length > 0 && (
            <Text size="sm" className="mono" style={{ overflowWrap: "anywhere", whiteSpace: "pre-line" }}>
              {git.dirty.join("\n")}
            </Text>
          )}
          {git.isDiffCut && (
            <Text size="sm" c="dimmed">
              The end of a very long diff was not kept.
            </Text>
          )}
        </Stack>
      </Paper>
    </Section>
  );
}

/** A link only for what is one: anybody may have written anything into it. */
function Repository({ url }: { url: string }) {
  if (!/^https?:\/\//i.test(url)) return <span className="mono">{url}</span>;
  return (
    <a href={url} target="_blank" rel="noopener noreferrer nofollow">
      {url}
    </a>
  );
}

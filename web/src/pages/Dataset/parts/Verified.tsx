import { Group, Text } from "@mantine/core";
import { IconAlertTriangle, IconClock, IconShieldCheck } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";
import { verificationQuery } from "../../../api/commits";
import type { DatasetPlace } from "../../../api/datasets";
import type { Commit, Verification } from "../../../api/shapes";
import { CommandLine } from "../../../components/Copyable";
import { Time } from "../../../components/Time";
import { shortId } from "../../../lib/names";
import { formatBytes, plural } from "../../../lib/quantity";

/** Whether what was uploaded was read back and checked, and the command that checks it again. */
export function Verified({ commit, place }: { commit: Commit; place: DatasetPlace }) {
  const { data } = useQuery(verificationQuery({ ...place, ref: commit.id }));
  if (!data) return null;
  return (
    <Group justify="space-between" mt="sm" data-testid="verified">
      <State state={data} />
      <CommandLine
        command={`mill data verify ${place.project}/${place.dataset}@${shortId(commit.id)} --full`}
      />
    </Group>
  );
}

function State({ state }: { state: Verification }) {
  const [problem] = state.problems;
  if (problem) {
    return (
      <Said icon={IconAlertTriangle}>
        {plural(state.problems.length, "pack is", "packs are")} damaged: {problem} Commit the folder again to
        repair it.
      </Said>
    );
  }
  if (state.packs === 0) return <Said icon={IconShieldCheck}>Nothing to verify: no stored content.</Said>;
  if (state.verified_packs < state.packs) {
    return (
      <Said icon={IconClock}>
        {formatBytes(state.verified_bytes)} of {formatBytes(state.bytes)} as stored were read back and checked
        so far.
      </Said>
    );
  }
  return (
    <Said icon={IconShieldCheck}>
      Verified: all {formatBytes(state.bytes)} as stored were read back and checked,{" "}
      <Time at={state.verified_at} />.
    </Said>
  );
}

function Said({ icon: Picture, children }: { icon: typeof IconClock; children: React.ReactNode }) {
  return (
    <Group gap={6} wrap="nowrap">
      <Picture size={18} aria-hidden style={{ flexShrink: 0 }} />
      <Text size="sm" component="div">
        {children}
      </Text>
    </Group>
  );
}

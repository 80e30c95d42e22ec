import { Accordion, List, Paper, Stack, Text, Title } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { planQuery } from "../../../api/cachePlans";
import type { CacheStep, VolumePlan } from "../../../api/shapes";
import { CommandLine } from "../../../components/Copyable";
import { Loaded } from "../../../components/Loaded";
import { Time } from "../../../components/Time";
import { shellQuote, shortId } from "../../../lib/names";
import { formatBytes, plural } from "../../../lib/quantity";

/** What would be evicted next, and what stays, with reasons. Nothing is done. */
export function Plan({ volume }: { volume?: string }) {
  const result = useQuery(planQuery(volume));
  return (
    <section>
      <Title order={2} size="h4" mb="xs">
        Next evictions
      </Title>
      <Stack>
        <Loaded result={result}>
          {({ items }) =>
            items.map((plan) => <VolumePart key={plan.volume} plan={plan} named={volume === undefined} />)
          }
        </Loaded>
        <CommandLine command={volume ? `mill cache plan --on ${shellQuote(volume)}` : "mill cache plan"} />
      </Stack>
    </section>
  );
}

function VolumePart({ plan, named }: { plan: VolumePlan; named: boolean }) {
  return (
    <Paper withBorder p="md" data-testid="plan">
      {named && (
        <Title order={3} size="h6">
          {plan.volume}
        </Title>
      )}
      <Text size="sm" c="dimmed" mb="xs">
        {formatBytes(plan.used_bytes)} used on disk. Above {formatBytes(plan.high_bytes)} the least recently
        used commits are evicted until {formatBytes(plan.low_bytes)} remain.
      </Text>
      {plan.goes.length === 0 ? (
        <Text size="sm">No evictions planned.</Text>
      ) : (
        <List type="ordered" size="sm" spacing={6}>
          {plan.goes.map((step, place) => (
            <List.Item key={step.cached_id ?? place}>
              <Step step={step} goes />
            </List.Item>
          ))}
        </List>
      )}
      {plan.stays.length > 0 && <Staying steps={plan.stays} volume={plan.volume} />}
    </Paper>
  );
}

function Staying({ steps, volume }: { steps: CacheStep[]; volume: string }) {
  return (
    <Accordion variant="default" chevronPosition="left" mt="xs">
      <Accordion.Item value="stays" style={{ borderBottom: 0 }}>
        <Accordion.Control px={0}>
          <Text size="sm">
            {plural(steps.length, "commit stays", "commits stay")} on {volume}
          </Text>
        </Accordion.Control>
        <Accordion.Panel>
          <List size="sm" spacing={4}>
            {steps.map((step, place) => (
              <List.Item key={step.cached_id ?? place}>
                <Step step={step} />
              </List.Item>
            ))}
          </List>
        </Accordion.Panel>
      </Accordion.Item>
    </Accordion>
  );
}

function Step({ step, goes = false }: { step: CacheStep; goes?: boolean }) {
  return (
    <>
      <Text span size="sm" fw={600}>
        {step.dataset}
        {step.commit_id && <span className="mono">@{shortId(step.commit_id)}</span>}
      </Text>
      , {goes ? `frees ${formatBytes(step.bytes)}` : `${formatBytes(step.bytes)} on disk`}
      {step.at && (
        <>
          , <Time at={step.at} />
        </>
      )}
      : {step.reason}
    </>
  );
}

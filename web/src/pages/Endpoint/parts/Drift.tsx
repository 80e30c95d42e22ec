import { Alert, Button, Stack, Text } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { IconChartHistogram } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";
import { driftQuery, useMeasureDrift } from "../../../api/endpoints";
import { useMay } from "../../../api/session";
import type { Endpoint, EndpointDrift } from "../../../api/shapes";
import { Chart } from "../../../components/Chart";
import { CommandLine } from "../../../components/Copyable";
import { EmptyState } from "../../../components/EmptyState";
import { type Fact, Facts } from "../../../components/Facts";
import { JobLink } from "../../../components/JobLink";
import { Loaded } from "../../../components/Loaded";
import { notifyDone, tell } from "../../../components/notify";
import { Section } from "../../../components/Section";
import { TextLink } from "../../../components/TextLink";
import { Time } from "../../../components/Time";
import { formatNumber } from "../../../lib/metric";
import { formatSeconds } from "../../../lib/quantity";
import { DriftColumns } from "./DriftColumns";
import { DriftForm } from "./DriftForm";
import { linesOf, rowsOf } from "./drift";

/** How far requests and answers have moved from a reference, column by column and window by window. */
export function Drift({ endpoint }: { endpoint: Endpoint }) {
  const result = useQuery(driftQuery({ project: endpoint.project, endpoint: endpoint.name }));
  const [opened, form] = useDisclosure(false);
  return (
    <Stack gap="xl">
      <Loaded result={result}>
        {(drift) =>
          drift.reference === null && drift.history.length === 0 ? (
            <Nothing endpoint={endpoint} onSet={form.open} />
          ) : (
            <Found endpoint={endpoint} drift={drift} onSet={form.open} />
          )
        }
      </Loaded>
      {opened && <DriftForm endpoint={endpoint} onClose={form.close} />}
    </Stack>
  );
}

function Nothing({ endpoint, onSet }: { endpoint: Endpoint; onSet: () => void }) {
  const may = useMay(endpoint.project, "member");
  return (
    <EmptyState
      icon={IconChartHistogram}
      sentence="Requests are compared with nothing yet. With a reference, like the data that the model was trained on, each window of requests is compared with it, and you are told when they move apart."
      action={may && <Button onClick={onSet}>Set a reference</Button>}
      command={`mill endpoint drift ${endpoint.name} --reference DATASET@REF`}
    />
  );
}

interface Props {
  endpoint: Endpoint;
  drift: EndpointDrift;
  onSet: () => void;
}

function Found({ endpoint, drift, onSet }: Props) {
  const { newest } = drift;
  return (
    <>
      <Schedule endpoint={endpoint} drift={drift} onSet={onSet} />
      <Pending endpoint={endpoint} drift={drift} />
      {newest ? (
        <Section title="Newest window" bare>
          <Stack>
            <Newest endpoint={endpoint} drift={drift} />
            <DriftColumns rows={rowsOf(drift)} />
            {newest.unmatched.length > 0 && (
              <Text size="sm" c="dimmed">
                Not in the reference: {newest.unmatched.join(", ")}
              </Text>
            )}
            <Chart
              title="PSI by window"
              data={linesOf(drift)}
              format={formatNumber}
              note="Below 0.1 nothing has moved, above 0.25 much has."
            />
          </Stack>
        </Section>
      ) : (
        <Text size="sm">Nothing was compared yet. A window is compared once its requests are committed.</Text>
      )}
      <CommandLine command={`mill endpoint drift ${endpoint.name}`} />
    </>
  );
}

/** What is compared, how often, and what is too much. */
function Schedule({ endpoint, drift, onSet }: Props) {
  const may = useMay(endpoint.project, "member");
  const measure = useMeasureDrift({ project: endpoint.project, endpoint: endpoint.name });
  const compare = () => void tell(measure.mutateAsync(), () => notifyDone("Comparison started."));
  const facts: Fact[] = [
    { name: "Reference", value: drift.reference ?? "none: nothing more is compared" },
    { name: "Window", value: formatSeconds(drift.window_seconds) },
    { name: "Every", value: formatSeconds(drift.every_seconds) },
    { name: "Alert", value: `PSI above ${drift.psi_max} and p below ${drift.p_min}` },
    ...(drift.next_at ? [{ name: "Next window", value: <Time at={drift.next_at} /> }] : []),
  ];
  return (
    <Section
      title="Schedule"
      bare
      actions={
        may && (
          <>
            <Button
              size="xs"
              variant="default"
              onClick={compare}
              loading={measure.isPending}
              disabled={drift.reference === null || drift.pending?.state === "running"}
            >
              Compare now
            </Button>
            <Button size="xs" variant="default" onClick={onSet}>
              Change
            </Button>
          </>
        )
      }
    >
      <Facts facts={facts} />
    </Section>
  );
}

/** A window after the newest one that was compared: it runs, or could not be. */
function Pending({ endpoint, drift: { pending } }: Omit<Props, "onSet">) {
  if (!pending) return null;
  if (pending.state === "failed") {
    return (
      <Alert color="orange" p="xs" title="The newest window could not be compared">
        {pending.error}
      </Alert>
    );
  }
  return (
    <Text size="sm" role="status">
      A comparison runs
      {pending.job && (
        <>
          {" "}
          as{" "}
          <JobLink project={endpoint.project} job={pending.job}>
            job {pending.job}
          </JobLink>
        </>
      )}
      .
    </Text>
  );
}

function Newest({ endpoint, drift }: Omit<Props, "onSet">) {
  const { newest, experiment } = drift;
  const { project } = endpoint;
  if (!newest) return null;
  const count = (some: number, all: number) =>
    some < all ? `${some.toLocaleString("en")} of ${all.toLocaleString("en")}` : some.toLocaleString("en");
  const facts: Fact[] = [
    { name: "Requests until", value: <Time at={newest.until} /> },
    { name: "Requests compared", value: count(newest.requests, newest.requests_of) },
    { name: "Rows of the reference", value: count(newest.reference_rows, newest.reference_rows_of) },
    { name: "Compared with", value: newest.reference },
    ...newest.versions.map((one) => ({
      name: `Version ${one.version}`,
      value: `${one.level}, PSI ${formatNumber(one.psi)} (${one.requests.toLocaleString("en")} requests)`,
    })),
    {
      name: "Runs",
      value: (
        <>
          {newest.run && (
            <TextLink to="/projects/$project/runs/$run" params={{ project, run: newest.run }} size="sm">
              this one
            </TextLink>
          )}
          {newest.run && ", "}
          <TextLink to="/runs" search={{ project, experiment }} size="sm">
            all
          </TextLink>
        </>
      ),
    },
  ];
  return <Facts facts={facts} />;
}

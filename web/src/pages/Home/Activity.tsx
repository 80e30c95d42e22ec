import { Group, Paper, Text, Title } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { activityQuery } from "../../api/home";
import type { Happening } from "../../api/shapes";
import { JobLink } from "../../components/JobLink";
import { Loaded } from "../../components/Loaded";
import { Status } from "../../components/Status";
import { TextLink } from "../../components/TextLink";
import { Time } from "../../components/Time";
import { datasetOf, endingOf, verbOf } from "./happenings";

/** What happened lately in the projects of the viewer, newest first. */
export function Activity() {
  const result = useQuery(activityQuery);
  return (
    <section aria-labelledby="activity">
      <Title order={2} size="h4" mb="xs" id="activity">
        Activity
      </Title>
      <Loaded result={result}>
        {({ items }) =>
          items.length === 0 ? (
            <Text c="dimmed">No activity yet.</Text>
          ) : (
            <Paper withBorder component="ul" m={0} p={0} className="feed">
              {items.map((item) => (
                <Line key={`${item.at} ${item.action} ${item.subject}`} item={item} />
              ))}
            </Paper>
          )
        }
      </Loaded>
    </section>
  );
}

function Line({ item }: { item: Happening }) {
  const ending = endingOf(item);
  return (
    <Group component="li" justify="space-between" gap="xs" px="md" py={6} wrap="nowrap">
      <Text size="sm" component="div" style={{ overflowWrap: "anywhere", minWidth: 0 }}>
        {ending ? (
          <Group gap="xs">
            <Status state={item.action.slice("job.".length) as "succeeded" | "failed" | "cancelled"} />
            <Subject item={item} />
          </Group>
        ) : (
          <>
            <b>{item.actor}</b> {verbOf(item)} <Subject item={item} />
            {item.reason && <>: {item.reason}</>}
          </>
        )}
      </Text>
      <Text size="sm" c="dimmed" component="div" style={{ whiteSpace: "nowrap" }}>
        <Time at={item.at} />
      </Text>
    </Group>
  );
}

function Subject({ item }: { item: Happening }) {
  const dataset = datasetOf(item);
  const [noun] = item.action.split(".");
  if (item.project && item.job_id && noun === "job") {
    return (
      <JobLink project={item.project} job={item.job_id}>
        {item.subject}
      </JobLink>
    );
  }
  if (item.project && dataset) {
    return (
      <TextLink
        to="/projects/$project/datasets/$dataset"
        params={{ project: item.project, dataset: dataset.dataset }}
        search={item.commit_id ? { tab: "commit", ref: item.commit_id } : { ref: dataset.ref }}
        inherit
        underline="always"
      >
        {item.subject}
      </TextLink>
    );
  }
  if (noun === "volume" && !item.project) {
    return (
      <TextLink to="/caches/$volume" params={{ volume: item.subject }} inherit underline="always">
        {item.subject}
      </TextLink>
    );
  }
  if (noun === "compute") {
    return (
      <TextLink to="/compute/$compute" params={{ compute: item.subject }} inherit underline="always">
        {item.subject}
      </TextLink>
    );
  }
  return item.subject;
}

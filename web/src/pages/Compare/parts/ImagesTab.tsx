import { Group, Paper, Slider, Stack, Text, TextInput, Title } from "@mantine/core";
import { IconSearch } from "@tabler/icons-react";
import { useQueries } from "@tanstack/react-query";
import { useMemo, useState } from "react";
import { artifactAddress, imagesQuery, type LoggedImage } from "../../../api/artifacts";
import { WaitingCards } from "../../../components/Waiting";
import { byName } from "../../../lib/metric";
import { plural } from "../../../lib/quantity";
import type { ComparedRun } from "../Compare";

/** Images of more runs than these are not looked for: nobody sees them side by side. */
const MOST_RUNS = 40;
const AT_ONCE = 30;

interface Props {
  project: string;
  compared: readonly ComparedRun[];
}

/** What runs have logged as images and figures, side by side, at the same step. */
export function ImagesTab({ project, compared }: Props) {
  const [text, setText] = useState("");
  const shown = compared.slice(0, MOST_RUNS);
  const results = useQueries({ queries: shown.map(({ run }) => imagesQuery({ project, run: run.id })) });
  const waiting = results.some((result) => result.isPending);
  const found = results.map((result) => result.data ?? []);
  const keys = [...new Set(found.flatMap((images) => images.map((image) => image.key)))]
    .filter((key) => key.toLowerCase().includes(text.toLowerCase()))
    .sort(byName);
  if (waiting) return <WaitingCards />;
  if (keys.length === 0 && !text) {
    return <Text size="sm">No images yet. In a script: millpond.log_image("prediction", image, step=1)</Text>;
  }
  return (
    <Stack gap="sm">
      <TextInput
        type="search"
        size="xs"
        w={220}
        aria-label="Search images"
        placeholder="Search images"
        leftSection={<IconSearch size={14} aria-hidden />}
        value={text}
        onChange={(event) => setText(event.currentTarget.value)}
      />
      {compared.length > MOST_RUNS && (
        <Text size="xs" c="dimmed">
          Images of the first {MOST_RUNS} of {plural(compared.length, "run")} are shown.
        </Text>
      )}
      {keys.slice(0, AT_ONCE).map((name) => (
        <ImageRow key={name} name={name} project={project} compared={shown} found={found} />
      ))}
      {keys.length > AT_ONCE && <Text size="sm">Search to see the other {keys.length - AT_ONCE} names.</Text>}
    </Stack>
  );
}

interface RowProps {
  name: string;
  project: string;
  compared: readonly ComparedRun[];
  found: readonly (readonly LoggedImage[])[];
}

function ImageRow({ name, project, compared, found }: RowProps) {
  const images = useMemo(() => found.map((all) => all.filter((image) => image.key === name)), [found, name]);
  const steps = [...new Set(images.flatMap((of) => of.map((image) => image.step)))].sort((a, b) => a - b);
  const [place, setPlace] = useState(steps.length - 1);
  const step = steps[Math.min(place, steps.length - 1)] ?? 0;
  return (
    <Paper withBorder p="sm" component="section" aria-label={name}>
      <Group justify="space-between" mb="xs">
        <Title order={3} size="h6">
          {name}
        </Title>
        {steps.length > 1 && (
          <Group gap="sm">
            <Text size="xs">step {step.toLocaleString("en")}</Text>
            <Slider
              w={200}
              size="sm"
              label={null}
              min={0}
              max={steps.length - 1}
              thumbLabel={`Step of ${name}`}
              value={Math.min(place, steps.length - 1)}
              onChange={setPlace}
            />
          </Group>
        )}
      </Group>
      <div className="image-grid">
        {compared.map(({ run, color }, index) => (
          <figure key={run.id} className="compared-image" style={{ borderTopColor: color }}>
            <At image={atStep(images[index] ?? [], step)} place={{ project, run: run.id }} name={run.name} />
            <figcaption title={run.name}>{run.name}</figcaption>
          </figure>
        ))}
      </div>
    </Paper>
  );
}

/** The newest image up to a step. */
export function atStep(images: readonly LoggedImage[], step: number): LoggedImage | undefined {
  return images.filter((image) => image.step <= step).sort((a, b) => b.step - a.step)[0];
}

function At({
  image,
  place,
  name,
}: {
  image?: LoggedImage;
  place: { project: string; run: string };
  name: string;
}) {
  if (!image) {
    return (
      <Text size="xs" c="dimmed" className="no-image">
        none up to here
      </Text>
    );
  }
  return (
    <img
      src={artifactAddress(place, image.path)}
      alt={`${image.key} of ${name} at step ${image.step}`}
      loading="lazy"
      decoding="async"
    />
  );
}

import { Button, SimpleGrid, Text } from "@mantine/core";
import { IconPhoto } from "@tabler/icons-react";
import { useState } from "react";
import { type FilePlace, fileAddress } from "../../../api/commits";
import type { TreeEntry } from "../../../api/shapes";
import { TextLink } from "../../../components/TextLink";
import { visibleName } from "../../../lib/names";
import { formatBytes, plural } from "../../../lib/quantity";

/** Drawn at once; more on request. */
const STEP = 120;
/** Thumbnails are the files themselves: one larger than this is shown as an icon. */
const MOST_BYTES = 4_000_000;

interface Props {
  pictures: TreeEntry[];
  place: FilePlace;
  commit: string;
  selected: string | undefined;
}

/** Images of one folder. The browser loads those near the screen only. */
export function Thumbnails({ pictures, place, commit, selected }: Props) {
  const [most, setMost] = useState(STEP);
  // Arrow keys may move past what is drawn.
  const needed = Math.max(most, pictures.findIndex((entry) => entry.path === selected) + 1);
  const left = pictures.length - needed;
  return (
    <>
      <SimpleGrid
        component="ul"
        type="container"
        cols={{ base: 2, "400px": 3, "600px": 4, "900px": 6, "1200px": 8 }}
        spacing="xs"
        p="sm"
        m={0}
        style={{ listStyle: "none" }}
        aria-label={`Images in ${place.path || place.dataset}`}
      >
        {pictures.slice(0, needed).map((entry) => (
          <li key={entry.path}>
            <Thumbnail entry={entry} place={place} commit={commit} selected={entry.path === selected} />
          </li>
        ))}
      </SimpleGrid>
      {left > 0 && (
        <Button variant="default" size="xs" m="sm" mt={0} onClick={() => setMost(needed + STEP)}>
          Show {plural(Math.min(left, STEP), "more image")}
        </Button>
      )}
    </>
  );
}

type OneProps = Omit<Props, "pictures" | "selected"> & { entry: TreeEntry; selected: boolean };

function Thumbnail({ entry, place, commit, selected }: OneProps) {
  const { project, dataset, ref } = place;
  const [broken, setBroken] = useState(false);
  const isShown = !broken && entry.size <= MOST_BYTES;
  const name = visibleName(entry.name);
  return (
    <TextLink
      to="/projects/$project/datasets/$dataset"
      params={{ project, dataset }}
      search={(before) => ({
        tab: "files",
        ref,
        path: place.path || undefined,
        file: entry.path,
        from: before.from,
      })}
      resetScroll={false}
      className="thumbnail"
      aria-current={selected ? "true" : undefined}
      title={`${name}, ${formatBytes(entry.size)}`}
    >
      <span className="thumbnail-frame">
        {isShown ? (
          <img
            src={fileAddress({ ...place, ref: commit, path: entry.path })}
            alt=""
            loading="lazy"
            decoding="async"
            onError={() => setBroken(true)}
          />
        ) : (
          <IconPhoto size={32} aria-hidden />
        )}
      </span>
      <Text size="xs" truncate>
        {name}
      </Text>
    </TextLink>
  );
}

import { SimpleGrid, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { fileAddress } from "../../../api/commits";
import type { DatasetPlace } from "../../../api/datasets";
import { fileTextQuery, PREVIEW_BYTES } from "../../../api/files";
import type { Change } from "../../../api/shapes";
import { ErrorNotice } from "../../../components/ErrorNotice";
import { TextDiff } from "../../../components/TextDiff";
import { WaitingRows } from "../../../components/Waiting";
import { formatBytes } from "../../../lib/quantity";
import { isImage } from "./kinds";

interface Props {
  change: Change;
  before: string;
  after: string;
  place: DatasetPlace;
}

/** Both sides of a changed file: images beside each other, of texts the lines that differ. */
export function FileComparison({ change, before, after, place }: Props) {
  const old = { ...place, ref: before, path: change.path };
  const now = { ...place, ref: after, path: change.path };
  if (isImage(change.path)) {
    return (
      <SimpleGrid cols={{ base: 1, sm: 2 }} p="xs">
        <Side title="Before" address={fileAddress(old)} name={change.path} />
        <Side title="After" address={fileAddress(now)} name={change.path} />
      </SimpleGrid>
    );
  }
  const isLarge = Math.max(change.size_before ?? 0, change.size_after ?? 0) > PREVIEW_BYTES;
  if (isLarge) {
    return <Text size="sm">Files of more than {formatBytes(PREVIEW_BYTES)} are not compared here.</Text>;
  }
  return <Texts old={old} now={now} />;
}

function Side({ title, address, name }: { title: string; address: string; name: string }) {
  return (
    <figure style={{ margin: 0 }}>
      <Text component="figcaption" size="sm" c="dimmed" mb={4}>
        {title}
      </Text>
      <img src={address} alt={`${name}, ${title.toLowerCase()}`} className="preview-image" />
    </figure>
  );
}

type Place = Parameters<typeof fileTextQuery>[0];

function Texts({ old, now }: { old: Place; now: Place }) {
  const [before, after] = [useQuery(fileTextQuery(old)), useQuery(fileTextQuery(now))];
  const error = before.error ?? after.error;
  if (error) return <ErrorNotice error={error} />;
  if (before.data === undefined || after.data === undefined) return <WaitingRows rows={2} />;
  const [left, right] = [before.data.text, after.data.text];
  if (left === null || right === null) return <Text size="sm">This file is not text.</Text>;
  return <TextDiff before={left} after={right} />;
}

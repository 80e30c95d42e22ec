import { Button, CloseButton, Group, Paper, Title, Tooltip } from "@mantine/core";
import { IconDownload } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";
import { lazy, Suspense } from "react";
import { commitQuery, type FilePlace, fileAddress } from "../../../api/commits";
import { Loaded } from "../../../components/Loaded";
import { WaitingRows } from "../../../components/Waiting";
import { visibleName } from "../../../lib/names";
import { kindOf } from "./kinds";
import { CsvPreview } from "./preview/CsvPreview";
import { DocumentPreview } from "./preview/DocumentPreview";
import { ImagePreview } from "./preview/ImagePreview";
import { JsonPreview } from "./preview/JsonPreview";
import { MediaPreview } from "./preview/MediaPreview";
import { TextPreview } from "./preview/TextPreview";

// Few look into Parquet files, and the reader is as long as several pages.
const ParquetPreview = lazy(() => import("./preview/ParquetPreview"));

/** One file shown by the kind its name tells, with a download. Nothing in it runs in this page's origin. */
export function FilePreview({ file, onClose }: { file: FilePlace; onClose?: () => void }) {
  const name = file.path.split("/").at(-1) ?? file.path;
  const { path, ...place } = file;
  const commit = useQuery(commitQuery(place));
  return (
    <Paper withBorder p="md" component="section" aria-label={`Preview of ${name}`}>
      <Group justify="space-between" mb="sm" wrap="nowrap">
        <Title order={2} size="h5" style={{ overflowWrap: "anywhere" }}>
          {visibleName(name)}
        </Title>
        <Group gap="xs" wrap="nowrap" style={{ flexShrink: 0 }}>
          <Button
            component="a"
            href={fileAddress(file, { download: true })}
            download={name}
            variant="default"
            size="xs"
            leftSection={<IconDownload size={14} aria-hidden />}
          >
            Download
          </Button>
          {onClose && (
            <Tooltip label="Close (Esc). Previous and next file: ← →">
              <CloseButton aria-label="Close preview" onClick={onClose} />
            </Tooltip>
          )}
        </Group>
      </Group>
      <Loaded result={commit}>
        {/* A branch may move while a file is read a part at a time: the commit does not. */}
        {({ id }) => <Content file={{ ...place, ref: id, path }} name={name} />}
      </Loaded>
    </Paper>
  );
}

function Content({ file, name }: { file: FilePlace; name: string }) {
  const kind = kindOf(name);
  switch (kind) {
    case "image":
      return <ImagePreview file={file} name={name} />;
    case "document":
      return <DocumentPreview file={file} name={name} />;
    case "json":
    case "lines":
      return <JsonPreview file={file} lines={kind === "lines"} />;
    case "table":
      return <CsvPreview file={file} />;
    case "parquet":
      return (
        <Suspense fallback={<WaitingRows />}>
          <ParquetPreview file={file} />
        </Suspense>
      );
    case "audio":
    case "video":
      return <MediaPreview file={file} kind={kind} />;
    case "text":
      return <TextPreview file={file} />;
  }
}

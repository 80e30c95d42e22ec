import { Button, Group, Paper, Text, Title } from "@mantine/core";
import { IconDownload } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { type FilePlace, fileAddress, fileTextQuery, PREVIEW_BYTES } from "../../../api/commits";
import { Loaded } from "../../../components/Loaded";
import { formatBytes } from "../../../lib/quantity";
import { isImage } from "./kinds";

/** One file as an image or the beginning of it as text, and the way to download it. Nothing in it ever runs. */
export function FilePreview({ file }: { file: FilePlace }) {
  const name = file.path.split("/").at(-1) ?? file.path;
  return (
    <Paper withBorder p="md" component="section" aria-label={`Preview of ${name}`}>
      <Group justify="space-between" mb="sm" wrap="nowrap">
        <Title order={2} size="h5" style={{ overflowWrap: "anywhere" }}>
          {name}
        </Title>
        <Button
          component="a"
          href={fileAddress(file, { download: true })}
          download={name}
          variant="default"
          size="xs"
          leftSection={<IconDownload size={14} aria-hidden />}
          style={{ flexShrink: 0 }}
        >
          Download
        </Button>
      </Group>
      {isImage(name) ? <ImagePreview file={file} name={name} /> : <TextPreview file={file} />}
    </Paper>
  );
}

function ImagePreview({ file, name }: { file: FilePlace; name: string }) {
  const [size, setSize] = useState<{ width: number; height: number } | null>(null);
  const [broken, setBroken] = useState(false);
  if (broken) return <Text size="sm">The browser cannot show this file as an image.</Text>;
  return (
    <>
      <img
        src={fileAddress(file)}
        alt={name}
        className="preview-image"
        // Small images are enlarged with sharp pixels rather than blurred.
        data-small={size && size.width < 256 ? "" : undefined}
        onLoad={({ currentTarget: image }) =>
          setSize({ width: image.naturalWidth, height: image.naturalHeight })
        }
        onError={() => setBroken(true)}
      />
      <Text size="sm" c="dimmed" mt="xs">
        {size ? `${size.width} × ${size.height} pixels` : "Loading"}
      </Text>
    </>
  );
}

function TextPreview({ file }: { file: FilePlace }) {
  const result = useQuery(fileTextQuery(file));
  return (
    <Loaded result={result}>
      {(text) => {
        if (text === null) return <Text size="sm">This file is not text. Download it to look inside.</Text>;
        if (text === "") return <Text size="sm">This file is empty.</Text>;
        return (
          <>
            {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a box that scrolls must be reachable by keyboard */}
            <pre className="preview-text" tabIndex={0}>
              {text}
            </pre>
            {text.length >= PREVIEW_BYTES && (
              <Text size="sm" c="dimmed" mt="xs">
                The first {formatBytes(PREVIEW_BYTES)} are shown.
              </Text>
            )}
          </>
        );
      }}
    </Loaded>
  );
}

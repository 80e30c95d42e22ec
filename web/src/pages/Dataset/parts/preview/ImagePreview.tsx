import { Text } from "@mantine/core";
import { useState } from "react";
import { type FilePlace, fileAddress } from "../../../../api/commits";

export function ImagePreview({ file, name }: { file: FilePlace; name: string }) {
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

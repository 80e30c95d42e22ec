import { Text } from "@mantine/core";
import { useState } from "react";
import { type FilePlace, fileAddress } from "../../../../api/commits";

interface Props {
  file: FilePlace;
  kind: "audio" | "video";
}

/** Sound or film, played by the browser: it reads only the parts that are listened to or looked at. */
export function MediaPreview({ file, kind }: Props) {
  const [broken, setBroken] = useState(false);
  if (broken)
    return <Text size="sm">The browser cannot play this file. Download it to open it elsewhere.</Text>;
  const Player = kind;
  return (
    <Player
      className={`preview-${kind}`}
      src={fileAddress(file)}
      controls
      preload="metadata"
      aria-label={file.path}
      onError={() => setBroken(true)}
    />
  );
}

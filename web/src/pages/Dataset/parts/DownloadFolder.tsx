import { Button } from "@mantine/core";
import { IconFileZip } from "@tabler/icons-react";
import type { FilePlace } from "../../../api/commits";
import { zipAddress } from "../../../api/files";

/** A directory of a commit, or all of it, as a zip file. */
export function DownloadFolder({ place }: { place: FilePlace }) {
  return (
    <Button
      component="a"
      href={zipAddress(place)}
      download
      variant="default"
      size="xs"
      leftSection={<IconFileZip size={14} aria-hidden />}
      title={`Download ${place.path || place.dataset} as a zip file`}
    >
      Download zip
    </Button>
  );
}

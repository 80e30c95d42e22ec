import { Button, Group, SegmentedControl, Text } from "@mantine/core";
import { IconExternalLink } from "@tabler/icons-react";
import { useMutation, useQuery } from "@tanstack/react-query";
import { useId, useState } from "react";
import type { FilePlace } from "../../../../api/commits";
import { openDocument } from "../../../../api/files";
import { ApiError } from "../../../../api/problem";
import { ErrorNotice } from "../../../../components/ErrorNotice";
import { Loaded } from "../../../../components/Loaded";
import { TextPreview } from "./TextPreview";

/** How long the second origin may take before it counts as out of reach. */
const REACH_MS = 5_000;

/** HTML or SVG, shown by the second origin in a sandbox, or its source. It never runs in this page's origin. */
export function DocumentPreview({ file, name }: { file: FilePlace; name: string }) {
  const [view, setView] = useState("shown");
  return (
    <>
      <Group justify="space-between" mb="xs">
        <SegmentedControl
          size="xs"
          value={view}
          onChange={setView}
          data={[
            { value: "shown", label: "Shown" },
            { value: "source", label: "Source" },
          ]}
        />
        <NewTab file={file} />
      </Group>
      {view === "shown" ? <Framed file={file} name={name} /> : <TextPreview file={file} />}
    </>
  );
}

function Framed({ file, name }: { file: FilePlace; name: string }) {
  const id = useId();
  const result = useQuery({
    // A ticket opens once: each frame asks for its own, and none is kept.
    queryKey: ["document", file, id],
    queryFn: () => reachable(file),
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 0,
    retry: false,
  });
  return (
    <Loaded result={result}>
      {({ url }) => (
        <>
          <iframe
            className="preview-document"
            title={name}
            src={url}
            sandbox="allow-scripts"
            referrerPolicy="no-referrer"
          />
          <Text size="sm" c="dimmed" mt="xs">
            Shown in a sandbox: it cannot load remote content or read this page.
          </Text>
        </>
      )}
    </Loaded>
  );
}

/** A browser may reach this page and still not the second origin: then say so instead of an empty frame. */
async function reachable(file: FilePlace) {
  const opened = await openDocument(file);
  const options = { mode: "no-cors", credentials: "omit", signal: AbortSignal.timeout(REACH_MS) } as const;
  await fetch(`${opened.origin}/healthz`, options).catch(() => {
    throw new ApiError(
      `Your browser does not reach ${opened.origin}, where HTML and SVG are shown apart from this page.`,
      0,
      "content_unreachable",
      "Through an SSH tunnel, forward that port as well; behind a proxy, see docs/operations.md. Or look at the source.",
    );
  });
  return opened;
}

function NewTab({ file }: { file: FilePlace }) {
  const open = useMutation({
    mutationFn: () => openDocument(file),
    onSuccess: ({ url }) => window.open(url, "_blank", "noopener,noreferrer"),
  });
  return (
    <>
      <Button
        variant="subtle"
        size="xs"
        loading={open.isPending}
        onClick={() => open.mutate()}
        leftSection={<IconExternalLink size={14} aria-hidden />}
      >
        Open in a new tab
      </Button>
      {open.error && <ErrorNotice error={open.error} />}
    </>
  );
}

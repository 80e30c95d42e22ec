import { Button, Group, Stack, Text } from "@mantine/core";
import { useMemo, useState } from "react";
import { type FilePatch, filesOf } from "./patch";

/** Lines of one file beyond which it is folded until somebody opens it. */
const LONG = 400;

/** Uncommitted changes as Git wrote them, a part for each file. */
export function PatchView({ patch }: { patch: string }) {
  const files = useMemo(() => filesOf(patch), [patch]);
  return (
    <Stack gap="sm">
      {files.map((file, index) => (
        <OneFile key={`${file.name} ${index}`} file={file} />
      ))}
    </Stack>
  );
}

function OneFile({ file }: { file: FilePatch }) {
  const [open, setOpen] = useState(file.lines.length <= LONG);
  return (
    <section aria-label={`Changes of ${file.name}`}>
      <Group gap="xs" mb={4} justify="space-between">
        <Text size="sm" fw={600} className="mono" style={{ overflowWrap: "anywhere" }}>
          {file.name}
        </Text>
        <Group gap="xs">
          <Text size="xs" className="mono">
            +{file.added} −{file.removed}
          </Text>
          <Button variant="subtle" size="compact-xs" aria-expanded={open} onClick={() => setOpen(!open)}>
            {open ? "Hide" : `Show ${file.lines.length.toLocaleString("en")} lines`}
          </Button>
        </Group>
      </Group>
      {open && (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: a box that scrolls must be reachable by keyboard
        <pre className="preview-text diff-text" tabIndex={0}>
          {file.lines.map((line, number) => (
            <div key={number} data-sign={line[0]}>
              {line || " "}
            </div>
          ))}
        </pre>
      )}
    </section>
  );
}

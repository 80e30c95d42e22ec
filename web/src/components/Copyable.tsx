import { ActionIcon, Code, CopyButton, Group, Tooltip } from "@mantine/core";
import { IconCheck, IconCopy } from "@tabler/icons-react";

/** A button that puts `value` on the clipboard. */
export function CopyIcon({ value, label }: { value: string; label: string }) {
  return (
    <CopyButton value={value}>
      {({ copied, copy }) => (
        <Tooltip label={copied ? "Copied" : label}>
          <ActionIcon variant="subtle" color="gray" onClick={copy} aria-label={copied ? "Copied" : label}>
            {copied ? <IconCheck size={16} /> : <IconCopy size={16} />}
          </ActionIcon>
        </Tooltip>
      )}
    </CopyButton>
  );
}

interface CommandProps {
  command: string;
  /** Shown whole, over several lines; otherwise what does not fit is scrolled to. */
  wrap?: boolean;
  label?: string;
}

/** The command line that does what the page shows, to copy. */
export function CommandLine({ command, wrap = false, label = "Copy the command" }: CommandProps) {
  const look = wrap
    ? ({ whiteSpace: "pre-wrap", overflowWrap: "anywhere" } as const)
    : ({ overflowX: "auto", whiteSpace: "pre" } as const);
  return (
    <Group gap={4} wrap="nowrap" maw="100%">
      <Code block px="sm" py={6} style={look} tabIndex={0}>
        {command}
      </Code>
      <CopyIcon value={command} label={label} />
    </Group>
  );
}

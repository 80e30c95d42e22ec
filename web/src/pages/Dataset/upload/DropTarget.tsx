import { Center, Paper, Portal, Stack, Text } from "@mantine/core";
import { IconUpload } from "@tabler/icons-react";
import { type ReactNode, useEffect, useRef, useState } from "react";

interface Props {
  label: string;
  onDrop: (data: DataTransfer) => void;
  children: ReactNode;
}

/** Takes files that are dropped anywhere on the page, and says so while they are held over it. */
export function DropTarget({ label, onDrop, children }: Props) {
  const over = useDrops(onDrop);
  return (
    <>
      {children}
      {over && (
        <Portal>
          <Center className="drop-overlay">
            <Paper withBorder shadow="md" p="xl" radius="lg">
              <Stack align="center">
                <IconUpload size={40} aria-hidden />
                <Text size="lg" fw={600} ta="center">
                  {label}
                </Text>
              </Stack>
            </Paper>
          </Center>
        </Portal>
      )}
    </>
  );
}

/** Whether files are held over the window now. Outside of a drop zone a browser would open them instead. */
function useDrops(onDrop: (data: DataTransfer) => void): boolean {
  const [over, setOver] = useState(false);
  const newest = useRef(onDrop);
  newest.current = onDrop;
  useEffect(() => {
    // Entering a child comes before leaving its parent: only the count says whether the window is left.
    let depth = 0;
    const hasFiles = (event: DragEvent) => event.dataTransfer?.types.includes("Files") ?? false;
    const listen = (event: DragEvent) => {
      if (!hasFiles(event)) return;
      event.preventDefault();
      if (event.type === "dragenter") depth += 1;
      if (event.type === "dragleave") depth = Math.max(0, depth - 1);
      if (event.type === "drop") {
        depth = 0;
        if (event.dataTransfer && !document.querySelector('[role="dialog"]'))
          newest.current(event.dataTransfer);
      }
      setOver(depth > 0);
    };
    const events = ["dragenter", "dragover", "dragleave", "drop"] as const;
    for (const name of events) window.addEventListener(name, listen);
    return () => {
      for (const name of events) window.removeEventListener(name, listen);
    };
  }, []);
  return over;
}

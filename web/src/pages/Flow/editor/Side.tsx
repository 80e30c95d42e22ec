import { Drawer } from "@mantine/core";
import type { ReactNode } from "react";

interface Props {
  isNarrow: boolean;
  /** Of a run: wider, since it may hold a log. */
  isRun?: boolean;
  onClose: () => void;
  children: ReactNode;
}

/** Beside the graph, or above it where there is no room. */
export function Side({ isNarrow, isRun = false, onClose, children }: Props) {
  if (!isNarrow) return <div className={isRun ? "flow-side flow-side-run" : "flow-side"}>{children}</div>;
  return (
    <Drawer opened onClose={onClose} withCloseButton={false} position="bottom" size="80%" padding={0}>
      {children}
    </Drawer>
  );
}

import type { Port, useOpenPort } from "../api/ports";

interface Then {
  onDone?: () => void;
  onError?: (error: Error) => void;
}

/** Show a port of a job in a new tab, which the click itself opens: browsers stop windows that come later. */
export function openInTab(open: ReturnType<typeof useOpenPort>, where: Port, then: Then) {
  const tab = window.open("about:blank", "_blank");
  open.mutate(where, {
    onSuccess: ({ url }) => {
      if (tab) {
        tab.opener = null;
        tab.location.href = url;
      }
      then.onDone?.();
    },
    onError: (error) => {
      tab?.close();
      then.onError?.(error);
    },
  });
}

/** Keeps what is shown true: follows the shared event stream, and polls while it is away. */
import { createContext, type ReactNode, useContext, useEffect, useState } from "react";
import { COMMON_TOPICS, refreshBegun, refreshEverything, refreshTopic } from "../api/live";
import { apiAddress } from "../lib/base";
import { LiveConnection } from "../lib/live/connection";
import type { ToTab } from "../lib/live/messages";

const POLL_MS = 5_000;

interface Live {
  readonly connection: LiveConnection | null;
  readonly online: boolean;
}

const LiveContext = createContext<Live>({ connection: null, online: true });

let shared: LiveConnection | null = null;

/** One connection per tab, for its whole life: the stream behind it comes and goes with what is followed. */
function connection(): LiveConnection {
  shared ??= new LiveConnection(apiAddress("/events"));
  return shared;
}

export function LiveProvider({ children }: { children: ReactNode }) {
  const [online, setOnline] = useState(true);
  useEffect(() => {
    const hear = (message: ToTab) => {
      if (message.kind === "status") setOnline(message.online);
      else if (message.kind === "reset") refreshEverything();
      else if (message.kind === "event") refreshTopic(message.topic);
      else refreshBegun(message.topics);
    };
    const stopListening = connection().listen(hear);
    const stopFollowing = connection().follow(COMMON_TOPICS);
    return () => {
      stopFollowing();
      stopListening();
    };
  }, []);
  useEffect(() => {
    if (online) return;
    const timer = setInterval(() => {
      if (document.visibilityState === "visible") refreshEverything();
    }, POLL_MS);
    return () => clearInterval(timer);
  }, [online]);
  return <LiveContext value={{ connection: connection(), online }}>{children}</LiveContext>;
}

/** Streams one more topic while the calling component is shown; null for none. */
export function useTopic(topic: string | null): void {
  const { connection } = useContext(LiveContext);
  useEffect(() => {
    if (topic && connection) return connection.follow([topic]);
  }, [connection, topic]);
}

export function useOnline(): boolean {
  return useContext(LiveContext).online;
}

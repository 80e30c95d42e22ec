import type { UseQueryResult } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { ErrorNotice } from "./ErrorNotice";
import { WaitingRows } from "./Waiting";

interface Props<Data> {
  result: UseQueryResult<Data>;
  waiting?: ReactNode;
  children: (data: Data) => ReactNode;
}

/** The three faces of one answer: on its way, failed, there. What is there stays while it is asked for again. */
export function Loaded<Data>({ result, waiting = <WaitingRows />, children }: Props<Data>) {
  if (result.data !== undefined) return <>{children(result.data)}</>;
  if (result.isError) return <ErrorNotice error={result.error} retry={() => void result.refetch()} />;
  return waiting;
}

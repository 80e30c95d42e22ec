import { Badge } from "@mantine/core";

/** Where a component comes from: the wheel, a package of the server, the project. */
export function OriginBadge({ origin }: { origin: string }) {
  return (
    <Badge variant="light" color={origin === "built-in" ? "gray" : "indigo"} tt="none" flex="none">
      {origin === "built-in" ? "built in" : origin}
    </Badge>
  );
}

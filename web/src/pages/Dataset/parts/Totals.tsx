import { Skeleton, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { datasetTotalsQuery } from "../../../api/datasets";
import { totalsLine } from "./totalsLine";

/** The line of numbers at the head of the hub. */
export function Totals({ project }: { project?: string }) {
  const { data } = useQuery(datasetTotalsQuery(project));
  if (!data) return <Skeleton height={20} width={420} maw="100%" mt={4} />;
  return (
    <Text c="dimmed" data-testid="totals">
      {totalsLine(data)}
    </Text>
  );
}

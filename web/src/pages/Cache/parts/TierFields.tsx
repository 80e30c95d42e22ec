import { Autocomplete, Group, NumberInput } from "@mantine/core";
import type { GetInputPropsReturnType } from "@mantine/form";
import { useQuery } from "@tanstack/react-query";
import { tiersQuery } from "../../../api/volumes";
import { tierWords } from "./tierWords";

interface Props {
  inputProps: (field: "tier" | "throughput" | "price") => GetInputPropsReturnType;
}

/** The class of service of a volume, and what it gives and costs beside the standard one. */
export function TierFields({ inputProps }: Props) {
  const tiers = useQuery(tiersQuery).data?.items ?? [];
  const tier = inputProps("tier");
  const chosen = tiers.find((one) => one.name === tier.value);
  return (
    <Group grow align="flex-start">
      <Autocomplete
        label="Tier"
        description={chosen ? tierWords(chosen) : "Its class of service"}
        data={tiers.map((one) => one.name)}
        {...tier}
      />
      <NumberInput
        label="Throughput"
        description="Left as it is: that of the tier"
        min={0}
        {...inputProps("throughput")}
      />
      <NumberInput label="Price" description="The standard tier has 1" min={0} {...inputProps("price")} />
    </Group>
  );
}

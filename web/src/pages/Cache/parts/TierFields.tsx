import { Group, NumberInput, TextInput } from "@mantine/core";
import type { GetInputPropsReturnType } from "@mantine/form";

interface Props {
  inputProps: (field: "tier" | "throughput" | "price") => GetInputPropsReturnType;
}

/** The class of service of a volume, and what it gives and costs beside the standard one. */
export function TierFields({ inputProps }: Props) {
  return (
    <Group grow align="flex-start">
      <TextInput label="Tier" description="Its class of service" {...inputProps("tier")} />
      <NumberInput
        label="Throughput"
        description="The standard tier has 1"
        min={0}
        {...inputProps("throughput")}
      />
      <NumberInput label="Price" description="The standard tier has 1" min={0} {...inputProps("price")} />
    </Group>
  );
}

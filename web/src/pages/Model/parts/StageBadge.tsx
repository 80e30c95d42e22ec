import { Badge, type MantineColor } from "@mantine/core";
import { type Icon, IconArchive, IconCircleDashed, IconFlask, IconRocket } from "@tabler/icons-react";
import type { ModelStage } from "../../../api/shapes";

export const STAGES: readonly ModelStage[] = ["None", "Staging", "Production", "Archived"];

const LOOKS: Record<ModelStage, readonly [Icon, MantineColor]> = {
  None: [IconCircleDashed, "gray"],
  Staging: [IconFlask, "indigo"],
  Production: [IconRocket, "green"],
  Archived: [IconArchive, "gray"],
};

/** MLflow's stage of a version; nothing where it is in none. */
export function StageBadge({ stage }: { stage: ModelStage }) {
  if (stage === "None") return <>–</>;
  const [Picture, color] = LOOKS[stage];
  return (
    <Badge
      color={color}
      variant="light"
      tt="none"
      leftSection={<Picture size={14} aria-hidden />}
      className="status"
    >
      {stage}
    </Badge>
  );
}

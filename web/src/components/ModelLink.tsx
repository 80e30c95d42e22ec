import type { ReactNode } from "react";
import { TextLink } from "./TextLink";

interface Props {
  project: string;
  model: string;
  /** A number or an alias. */
  version: number | string;
  children?: ReactNode;
}

/** Leads to one version of a model. */
export function ModelLink({ project, model, version, children }: Props) {
  return (
    <TextLink
      to="/projects/$project/models/$model/versions/$version"
      params={{ project, model, version: String(version) }}
      size="sm"
      style={{ overflowWrap: "anywhere" }}
    >
      {children ?? `${model}@${version}`}
    </TextLink>
  );
}

/** What a node of lineage is called, and how it looks. */
import {
  type Icon,
  IconCloudDownload,
  IconCode,
  IconCube,
  IconDatabase,
  IconFiles,
  IconPackage,
  IconTimeline,
} from "@tabler/icons-react";
import type { LineageNode } from "../../api/shapes";
import { shortId } from "../../lib/names";

export interface Look {
  /** Like "Model version". */
  readonly noun: string;
  readonly title: string;
  readonly detail: string;
  readonly icon: Icon;
  readonly color: string;
}

const MODELS = ".models.";
const OF_JOBS: Readonly<Record<string, readonly [string, Icon, string]>> = {
  ".code": ["Code", IconCode, "gray"],
  ".outputs": ["Output", IconFiles, "teal"],
  ".artifacts": ["Artifacts", IconFiles, "teal"],
  ".environments": ["Environment", IconPackage, "gray"],
};

export function lookOf(node: LineageNode): Look {
  if (node.kind === "import") {
    return {
      noun: "Import",
      title: node.name ?? node.id,
      detail: "",
      icon: IconCloudDownload,
      color: "gray",
    };
  }
  if (node.kind !== "commit") {
    const title = node.is_gone ? shortId(node.id) : (node.name ?? node.id);
    return {
      noun: "Run",
      title,
      detail: detailOf(node, node.state ?? ""),
      icon: IconTimeline,
      color: "blue",
    };
  }
  const dataset = node.dataset ?? "";
  if (dataset.startsWith(MODELS)) {
    const name = dataset.slice(MODELS.length);
    const version = node.version ?? shortId(node.id);
    return {
      noun: "Model version",
      title: `${name}@${version}`,
      detail: detailOf(node, node.name ?? ""),
      icon: IconCube,
      color: "grape",
    };
  }
  const [noun, icon, color] = OF_JOBS[dataset] ?? ["Data", IconDatabase, "indigo"];
  const title = node.is_gone ? shortId(node.id) : `${dataset}@${shortId(node.id)}`;
  return { noun, title, detail: detailOf(node, node.name ?? ""), icon, color };
}

function detailOf(node: LineageNode, words: string): string {
  return node.is_gone ? "deleted" : words;
}

/** The address of its page, in the router's terms; null where there is none. */
export function addressOf(node: LineageNode) {
  const project = node.project ?? "";
  if (node.is_gone || !project) return null;
  if (node.kind === "run")
    return { to: "/projects/$project/runs/$run", params: { project, run: node.id } } as const;
  if (node.kind !== "commit" || !node.dataset) return null;
  if (node.version != null) {
    const params = { project, model: node.dataset.slice(MODELS.length), version: String(node.version) };
    return { to: "/projects/$project/models/$model/versions/$version", params } as const;
  }
  return {
    to: "/projects/$project/datasets/$dataset",
    params: { project, dataset: node.dataset },
    search: { tab: "commit", ref: node.id },
  } as const;
}

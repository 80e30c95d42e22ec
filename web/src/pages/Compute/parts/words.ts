import type { Compute } from "../../../api/shapes";
import { shellQuote } from "../../../lib/names";

/** What a driver can honour, in words; asked of it, never guessed from its name. */
export function capabilityWords(can: Compute["capabilities"]): string {
  if (!can) return "not reported yet";
  return [
    can.containers
      ? `runs images${can.default_image ? `, ${can.default_image} by default` : ""}`
      : "no images",
    can.limits_enforced ? "limits enforced" : "limits not enforced",
    {
      none: "whole GPUs only",
      accounted: "parts of GPUs accounted, not enforced",
      enforced: "parts of GPUs enforced",
    }[can.gpu_fractions],
    can.gangs ? "distributed jobs" : "no distributed jobs",
    can.mpi ? "MPI" : "no MPI",
    can.services ? "endpoints" : "no endpoints",
    can.exec ? "terminals" : "no terminals",
    can.ports ? "ports" : "no ports",
    can.shared_trust ? "shared trust: all projects use one account" : "projects isolated",
  ].join(" · ");
}

/** Why nothing new is placed there, and what to do; null when all is well. */
export function healthWords(compute: Compute): string | null {
  switch (compute.health) {
    case "draining":
      return `Draining, requested by ${compute.cordoned_by ?? "somebody"}. Running jobs finish; no new ones start.`;
    case "cordoned":
      return `Cordoned by ${compute.cordoned_by ?? "somebody"}. No jobs run here and no new ones start.`;
    case "away":
      return "The agent is not responding. Its jobs keep running. Check the machine and the agent's log.";
    case "new":
      return "Waiting for the agent's first report.";
    case "revoked":
      return `Credential revoked. Re-attach this compute: mill compute token --compute ${compute.name}`;
    default:
      return null;
  }
}

interface Attachment {
  server: string;
  site: string;
  name: string;
  driver: string;
  /** Of a Kubernetes cluster: the agent's image, and what agent and jobs see alike. */
  image: string;
  mount: string;
}

/** What to type so that an agent comes in, one line after the other. */
export function attachCommands(about: Attachment, secret: string): string[] {
  if (about.driver === "kubernetes") return clusterCommands(about, secret);
  return ["pip install millpond", tokenFileCommand(secret), agentCommand(about)];
}

/** The agent runs in the cluster, and its join token is a secret there. */
function clusterCommands({ server, site, name, image, mount }: Attachment, secret: string): string[] {
  const made = [
    "mill compute attach kubernetes --no-token",
    `--url ${shellQuote(server)}`,
    `--site ${shellQuote(site)}`,
    ...(name ? [`--name ${shellQuote(name)}`] : []),
    `--image ${shellQuote(image)}`,
    `--mount ${shellQuote(mount)}`,
  ];
  return [
    "kubectl create namespace millpond",
    `kubectl -n millpond create secret generic millpond-join --from-literal=token=${shellQuote(secret)}`,
    `${made.join(" ")} | kubectl apply -f -`,
  ];
}

/** What to type on the machine that is to be attached, with the join token in a file there. */
export function agentCommand({ server, site, name, driver }: Omit<Attachment, "image" | "mount">): string {
  const parts = [
    "mill agent",
    `--server ${shellQuote(server)}`,
    "--token-file join-token",
    `--site ${shellQuote(site)}`,
  ];
  if (name) parts.push(`--node ${shellQuote(name)}`);
  if (driver !== "process") parts.push(`--driver ${driver}`);
  return parts.join(" ");
}

/** Puts the secret into a file that only its owner may read, without leaving it in the shell's history of the agent. */
export function tokenFileCommand(secret: string): string {
  return `(umask 077; printf '%s\\n' ${shellQuote(secret)} > join-token)`;
}

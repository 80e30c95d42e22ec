import { expect, it } from "vitest";
import { aJob, aSpec } from "../../../testing/builders";
import { commandLineOf, draftOf, emptyDraft, gridOf, makesGrid, mountsProblem, requestOf } from "./draft";

const DRAFT = {
  ...emptyDraft("default"),
  name: "train",
  inputs: ["xray@v3"],
  command: "python train.py --lr 0.1",
  cpu: 2,
  memoryGb: 1.5,
  gpus: 0.5,
};

it("sends whole bytes and hundredths of GPUs", () => {
  expect(requestOf(DRAFT)).toEqual({
    name: "train",
    command: ["python", "train.py", "--lr", "0.1"],
    inputs: ["xray@v3"],
    env: {},
    experiment: null,
    params: {},
    processes: 0,
    launcher: "torch",
    cpu: 2,
    memory_bytes: 1_500_000_000,
    gpu_hundredths: 50,
    gpu_type: null,
    min_gpu_memory_bytes: 0,
    node_selector: {},
    on: null,
    preemptible: null,
    grace_seconds: 30,
    gpu_enforced: false,
    image: null,
    code_commit: null,
    compute: null,
    priority: 0,
    timeout_seconds: 0,
    retries: 0,
    retry_on: [],
    backoff_seconds: 5,
    after: [],
    environment: null,
    kind: "training",
    ports: [],
    idle_seconds: 0,
    secrets: {},
    options: {},
    mounts: [],
    workspaces: [],
    snapshots: null,
    large_shm: false,
    tags: {},
  });
  expect(requestOf(emptyDraft("default"))).toMatchObject({
    name: null,
    command: [],
    cpu: 0,
    memory_bytes: 0,
  });
});

it("says the command line that does the same", () => {
  expect(commandLineOf(DRAFT, true)).toBe(
    "mill submit train --data xray@v3 --cpu 2 --memory 1.5GB -g 0.5 --no-code -- python train.py --lr 0.1",
  );
  expect(commandLineOf({ ...emptyDraft("default"), gpus: 0.5, enforced: true, image: "a b" }, true)).toBe(
    "mill submit -g 0.5 --enforced -i 'a b' --no-code -- COMMAND",
  );
  expect(commandLineOf({ ...emptyDraft("vision"), command: "ls | wc -l", code: "c" }, false)).toBe(
    "mill submit --project vision -- sh -c 'ls | wc -l'",
  );
});

it("asks for several processes, and what each of them gets", () => {
  const draft = { ...DRAFT, processes: 3, gpus: 1 };
  expect(requestOf(draft)).toMatchObject({ processes: 3, gpu_hundredths: 100 });
  expect(commandLineOf(draft, true)).toContain("--processes 3 --gpu-per-process 1 ");
  expect(draftOf(aJob({ processes: 3 })).processes).toBe(3);
});

it("asks for mpirun only where there are processes to start", () => {
  const draft = { ...DRAFT, processes: 3, mpi: true };
  expect(requestOf(draft)).toMatchObject({ processes: 3, launcher: "mpi" });
  expect(commandLineOf(draft, true)).toContain("mill submit-mpi train ");
  expect(requestOf({ ...draft, processes: "" }).launcher).toBe("torch");
  expect(draftOf(aJob({ processes: 3, launcher: "mpi" })).mpi).toBe(true);
});

it("carries limits, retries and what it comes after", () => {
  const draft = {
    ...emptyDraft("default"),
    command: "true",
    compute: "lab",
    priority: 5,
    timeoutMinutes: 90,
    retries: 2,
    retryOn: ["oom"],
    after: ["first:any"],
  };
  expect(requestOf(draft)).toMatchObject({
    compute: "lab",
    priority: 5,
    timeout_seconds: 5400,
    retries: 2,
    retry_on: ["oom"],
    after: ["first:any"],
  });
  expect(commandLineOf(draft, true)).toBe(
    "mill submit --compute lab --priority 5 --timeout 90m --retries 2 --retry-on oom --after first:any --no-code -- true",
  );
});

it("runs a job again with the commits it had", () => {
  const job = aJob({
    command: ["sh", "-c", "ls | wc -l"],
    inputs: [{ dataset: "default/xray", ref: "main", commit_id: "c1", env: "MILL_DATA_XRAY" }] as never,
    code_commit: "c0",
    env: { KIND: "a b" },
    memory_bytes: 2e9,
  });
  expect(commandLineOf(draftOf(job), true)).toContain(" -e 'KIND=a b' ");
  const request = requestOf(draftOf(job));
  expect(request).toMatchObject({
    command: ["sh", "-c", "ls | wc -l"],
    inputs: ["default/xray@c1"],
    code_commit: "c0",
    env: { KIND: "a b" },
    memory_bytes: 2e9,
    gpu_hundredths: 0,
  });
});

it("carries what is asked of a driver", () => {
  const draft = draftOf(aJob({ wanted_compute: "slurm", options: { partition: "long", account: "a=b" } }));
  expect(requestOf(draft).options).toEqual({ partition: "long", account: "a=b" });
  expect(commandLineOf(draft, true)).toContain(
    "--compute slurm --option partition=long --option account=a=b",
  );
});

it("carries the ports and secrets of a notebook", () => {
  const notebook = aJob({
    kind: "interactive",
    ports: [8888],
    idle_seconds: 7200,
    secrets: { HUB: "KEY", A: "A" },
  });
  const draft = draftOf(notebook);
  expect(requestOf(draft)).toMatchObject({
    kind: "interactive",
    ports: [8888],
    idle_seconds: 7200,
    secrets: { HUB: "KEY", A: "A" },
  });
  expect(commandLineOf(draft, true)).toContain("--port 8888 --idle 7200s --secret HUB=KEY --secret A");
});

it("says on which template and on which nodes a job runs", () => {
  const draft = {
    ...emptyDraft("default"),
    command: "true",
    on: "burst",
    gpuType: "A100",
    minGpuMemoryGb: 40,
    nodeSelector: ["rack=r1"],
  };
  expect(commandLineOf(draft, true)).toBe(
    "mill submit --on burst --gpu-type A100 --min-gpu-memory 40GB --node-selector rack=r1 --no-code -- true",
  );
  expect(requestOf(draft)).toMatchObject({
    on: "burst",
    gpu_type: "A100",
    min_gpu_memory_bytes: 40e9,
    node_selector: { rack: "r1" },
  });
});

it("runs a job again on the same nodes, with the same mounts and the same treatment", () => {
  const asked = {
    on: "burst",
    gpu_type: "A100",
    min_gpu_memory_bytes: 40e9,
    node_selector: { rack: "r1" },
    preemptible: false,
    grace_seconds: 120,
    large_shm: true,
  };
  const mounts = [
    { mount: "scratch", target: "/scratch", read_only: false, site_id: "s1" },
    { mount: "shared", target: "/shared", read_only: true, site_id: "" },
  ];
  const draft = draftOf(aJob({ spec: aSpec({ ...asked, mounts }) }));
  expect(requestOf(draft)).toMatchObject({
    ...asked,
    // Where a mount exists is looked up when the job is submitted.
    mounts: mounts.map((mount) => ({ ...mount, site_id: "" })),
  });
  expect(commandLineOf(draft, true)).toContain(
    "--on burst --gpu-type A100 --min-gpu-memory 40GB --node-selector rack=r1 --pvc scratch:/scratch " +
      "--pvc shared:/shared:ro --large-shm --no-preemptible --grace 120s",
  );
});

it("leaves to the template what the template had filled in", () => {
  const spec = aSpec({
    on: "burst",
    compute: "dgx",
    cpu: 8,
    gpu_hundredths: 200,
    gpu_type: "A100",
    image: "torch:2",
    node_selector: { rack: "r1", zone: "a" },
    env: { OWN: "1", GIVEN: "2" },
  });
  const filled = {
    compute: "dgx",
    cpu: 8,
    gpu_type: "A100",
    node_selector: { zone: "a" },
    env: { GIVEN: "2" },
  };
  const job = aJob({ spec, wanted_compute: "dgx", template: "gpu-real", filled });
  expect(requestOf(draftOf(job))).toMatchObject({
    on: "burst",
    compute: null,
    cpu: 0,
    gpu_hundredths: 200,
    gpu_type: null,
    image: "torch:2",
    node_selector: { rack: "r1" },
    env: { OWN: "1" },
  });
});

it("tells how a mount is written", () => {
  expect(mountsProblem(["scratch:/scratch", "/mnt/a:/a:ro"])).toBeNull();
  expect(mountsProblem(["scratch"])).toBe("Write scratch as NAME:/path or NAME:/path:ro.");
});

it("makes a grid of jobs from values with commas", () => {
  const params = [
    { key: "lr", value: "0.1, 0.01" },
    { key: "size", value: "32" },
  ];
  const draft = { ...emptyDraft("default"), command: "python train.py --rate {lr}", experiment: "x", params };
  expect(makesGrid(draft)).toBe(true);
  expect(gridOf(draft)).toMatchObject({
    method: "grid",
    job: { command: ["python", "train.py", "--rate", "{lr}"], experiment: "x" },
    parameters: [
      { name: "lr", values: [0.1, 0.01] },
      { name: "size", values: [32] },
    ],
  });
  expect(commandLineOf(draft, true)).toBe(
    "mill submit --experiment x --grid --no-code -- python train.py --rate 0.1,0.01 --size 32",
  );
});

it("keeps experiment, environment and parameters of a job that is cloned", () => {
  const spec = aSpec({
    command: ["python", "train.py", "--lr", "0.1"],
    experiment: "x-ray",
    params: { lr: 0.1, seed: 7 },
    env: { KIND: "a" },
  });
  const draft = draftOf(aJob({ spec, command: spec.command, env: spec.env }));
  expect(draft).toMatchObject({ command: "python train.py", params: [{ key: "lr", value: "0.1" }] });
  expect(requestOf(draft)).toMatchObject({
    command: ["python", "train.py", "--lr", "0.1"],
    experiment: "x-ray",
    params: { lr: 0.1, seed: 7 },
    env: { KIND: "a" },
  });
});

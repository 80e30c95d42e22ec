"""Serving: CPU, throughput and latency of the model server beside Triton, mlserver, its own floor and its router.

The same small ONNX model everywhere, one machine, one client (wrk), servers in turn, rounds interleaved, medians.
Triton and mlserver have environments of their own; without one, its numbers are left out.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path
from statistics import median

import onnx

from benchmarks.serving_load import Load, binary_body, json_body, memory_mb, run_grpc, run_pairs, run_wrk
from benchmarks.serving_models import CNN_SECONDS, cnn_input, cnn_of, raw_run, raw_seconds, small_input, small_model
from benchmarks.serving_servers import Served, constant, millpond, mlserver, routed, triton

INFER = "/v2/models/{}/infer"
# What a replica needs before it can do anything: these packages, and the model in onnxruntime.
IMPORTS = """
import sys, numpy, orjson, uvloop, httptools, tritonclient.grpc.service_pb2, onnxruntime
onnxruntime.InferenceSession(sys.argv[1], providers=["CPUExecutionProvider"])
"""

Samples = dict[str, list[float]]


def main() -> None:
    options = _options()
    small, network = small_model(), cnn_of(CNN_SECONDS)
    samples: Samples = defaultdict(list)
    for number in range(options.rounds):
        _measure_round(samples, options, small, network)
        print(f"round {number + 1} of {options.rounds}", file=sys.stderr)
    found = {key: median(values) for key, values in samples.items()}
    for key in sorted(found):
        print(f"  {key:24} {found[key]:10.2f}   {' '.join(f'{value:.2f}' for value in samples[key])}")
    print(json.dumps({key: round(value, 3) for key, value in _results(found).items()}))


def _measure_round(
    samples: Samples, options: argparse.Namespace, small: onnx.ModelProto, network: onnx.ModelProto
) -> None:
    with constant() as floor:
        _add(samples, "floor_1", _wrk(floor, "small", options, clients=1))
    samples["raw_us"].append(raw_seconds(small, small_input(), 2000) * 1e6)
    samples["imports_s"].append(_imports_seconds(small))
    with millpond({"small": small}) as ours:
        samples["ready_s"].append(ours.ready_seconds)
        _measure_protocols(samples, "millpond", ours, options)
        samples["rss_mb"].append(memory_mb(ours.pids[0]))
    if options.triton:
        with triton(options.triton, small) as theirs:
            _measure_protocols(samples, "triton", theirs, options)
    if options.mlserver:
        for key, workers in (("mlserver", None), ("mlserver_alone", 0)):
            with mlserver(options.mlserver, small, workers) as other:
                _add(samples, f"{key}_json_8", _wrk(other, "small", options, clients=8, form="json"))
    with routed({"small": small}, "none") as plain, routed({"small": small}, "meta") as logging:
        # Clients in turn, too: the difference is smaller than what the machine's other work makes.
        for clients in (1, 8):
            without, logged = (_wrk(each, "small", options, clients=clients) for each in (plain, logging))
            _add(samples, f"router_{clients}", without)
            _add(samples, f"router_log_{clients}", logged)
            samples["log_cpu_ratio"].append(logged.cpu_us / without.cpu_us)
    with millpond({"cnn": network}) as ours:
        served, raw = run_pairs(f"{ours.url}{INFER.format('cnn')}", binary_body(cnn_input()), raw_run(network), 150)
        samples["cnn_us"].append(served)
        samples["cnn_raw_us"].append(raw)


def _measure_protocols(samples: Samples, name: str, served: Served, options: argparse.Namespace) -> None:
    for form in ("bin", "json"):
        for clients in (1, 8):
            _add(samples, f"{name}_{form}_{clients}", _wrk(served, "small", options, clients=clients, form=form))
    grpc = run_grpc(served.grpc, "small", small_input(), seconds=options.seconds, servers=served.pids)
    _add(samples, f"{name}_grpc_1", grpc)


def _wrk(served: Served, model: str, options: argparse.Namespace, *, clients: int, form: str = "bin") -> Load:
    body = binary_body(small_input()) if form == "bin" else json_body(small_input())
    url = f"{served.url}{INFER.format(model)}"
    return run_wrk(url, body, clients=clients, seconds=options.seconds, servers=served.pids)


def _add(samples: Samples, key: str, load: Load) -> None:
    samples[f"{key}_cpu"].append(load.cpu_us)
    samples[f"{key}_p50"].append(load.p50_us)
    samples[f"{key}_rps"].append(load.per_second)


def _results(found: Mapping[str, float]) -> dict[str, float]:
    results = {
        "cpu_us_bin": found["millpond_bin_8_cpu"],
        "cpu_us_json": found["millpond_json_8_cpu"],
        "cpu_us_grpc": found["millpond_grpc_1_cpu"],
        "p50_over_floor": found["millpond_bin_1_p50"] / (found["floor_1_p50"] + found["raw_us"]),
        "router_cpu_ratio": found["router_8_cpu"] / found["millpond_bin_8_cpu"],
        "router_p50_ratio": found["router_1_p50"] / found["millpond_bin_1_p50"],
        "log_cpu_ratio": found["log_cpu_ratio"],
        "cnn_overhead": found["cnn_us"] / found["cnn_raw_us"] - 1,
        "rss_mb": found["rss_mb"],
        "ready_s": found["ready_s"],
        "ready_over_imports": found["ready_s"] / found["imports_s"],
    }
    if "triton_bin_8_cpu" in found:
        results |= {
            "cpu_vs_triton_bin": found["millpond_bin_8_cpu"] / found["triton_bin_8_cpu"],
            "cpu_vs_triton_json": found["millpond_json_8_cpu"] / found["triton_json_8_cpu"],
            "cpu_vs_triton_grpc": found["millpond_grpc_1_cpu"] / found["triton_grpc_1_cpu"],
            "rps_vs_triton_c8": found["millpond_bin_8_rps"] / found["triton_bin_8_rps"],
        }
    if "mlserver_json_8_rps" in found:
        results["rps_vs_mlserver_json"] = found["millpond_json_8_rps"] / found["mlserver_json_8_rps"]
        results["rps_vs_mlserver_alone"] = found["millpond_json_8_rps"] / found["mlserver_alone_json_8_rps"]
    return results


def _imports_seconds(model: onnx.ModelProto) -> float:
    with tempfile.NamedTemporaryFile(suffix=".onnx") as file:
        file.write(model.SerializeToString())
        file.flush()
        began = time.perf_counter()
        subprocess.run([sys.executable, "-c", IMPORTS, file.name], check=True)
        return time.perf_counter() - began


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--triton", type=Path, metavar="PYTHON", help="Python of the environment with nvidia-pytriton.")
    parser.add_argument("--mlserver", type=Path, metavar="PYTHON", help="Python of the environment with mlserver.")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=4.0, help="Length of each measurement.")
    return parser.parse_args()


if __name__ == "__main__":
    main()

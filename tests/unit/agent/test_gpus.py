from __future__ import annotations

from types import ModuleType, SimpleNamespace

from millpond.agent.gpus import gpu_use


class FakeNvml(ModuleType):
    """Two GPUs, as NVIDIA's bindings show them."""

    class NVMLError(Exception):
        pass

    def nvmlDeviceGetHandleByIndex(self, index: int) -> int:
        if index > 1:
            raise self.NVMLError("no such device")
        return index

    def nvmlDeviceGetUtilizationRates(self, handle: int) -> SimpleNamespace:
        return SimpleNamespace(gpu=[50, 100][handle])

    def nvmlDeviceGetMemoryInfo(self, handle: int) -> SimpleNamespace:
        return SimpleNamespace(used=[1_000, 2_000][handle])


def test_load_is_a_mean_and_memory_a_sum() -> None:
    nvml = FakeNvml("pynvml")
    assert gpu_use([0, 1], nvml) == {"gpu_percent": 75.0, "gpu_memory_bytes": 3_000}
    assert gpu_use([1], nvml) == {"gpu_percent": 100.0, "gpu_memory_bytes": 2_000}


def test_what_cannot_be_asked_is_left_out() -> None:
    assert gpu_use([7], FakeNvml("pynvml")) == {}
    assert gpu_use([]) == {}

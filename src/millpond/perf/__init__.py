"""Measures model servers the MLPerf way: MLCommons' LoadGen drives them and judges (docs/perf.md)."""

"""The AI library: one folder per component, each with `component.yaml`, code, tests and a page of docs."""

import json

import numpy as np
import triton_python_backend_utils as pb_utils


class TritonPythonModel:
    """Answers what the model is told about a request, as JSON."""

    def initialize(self, args):
        self.args = {key: args[key] for key in ("model_name", "model_version", "model_instance_kind")}

    def execute(self, requests):
        return [self._answer(request) for request in requests]

    def _answer(self, request):
        parameters = request.parameters()
        seen = {
            "args": self.args,
            "id": request.request_id(),
            "parameters": json.loads(parameters) if isinstance(parameters, str) else parameters,
            "outputs": list(request.requested_output_names()),
            "priority": request.priority() if hasattr(request, "priority") else None,
            "timeout": request.timeout(),
            "shape": list(pb_utils.get_input_tensor_by_name(request, "X").shape()),
        }
        text = json.dumps(seen, sort_keys=True).encode()
        return pb_utils.InferenceResponse([pb_utils.Tensor("SEEN", np.array([text], dtype=np.object_))])

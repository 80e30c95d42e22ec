import json

import triton_python_backend_utils as pb_utils


class TritonPythonModel:
    """Multiplies by the `scale` of its configuration."""

    def initialize(self, args):
        config = json.loads(args["model_config"])
        self.scale = float(config["parameters"]["scale"]["string_value"])

    def execute(self, requests):
        return [
            pb_utils.InferenceResponse(
                [pb_utils.Tensor("Y", (pb_utils.get_input_tensor_by_name(request, "X").as_numpy() * self.scale))]
            )
            for request in requests
        ]

import numpy as np
import triton_python_backend_utils as pb_utils


class TritonPythonModel:
    """Answers the version it was loaded as."""

    def initialize(self, args):
        self.version = int(args["model_version"])

    def execute(self, requests):
        return [
            pb_utils.InferenceResponse([pb_utils.Tensor("VERSION", np.array([self.version], np.int64))])
            for _ in requests
        ]

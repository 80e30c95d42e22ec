import time

import triton_python_backend_utils as pb_utils


class TritonPythonModel:
    """Sleeps for SECONDS."""

    def execute(self, requests):
        responses = []
        for request in requests:
            seconds = pb_utils.get_input_tensor_by_name(request, "SECONDS").as_numpy()
            time.sleep(float(seconds.max()))
            responses.append(pb_utils.InferenceResponse([pb_utils.Tensor("SLEPT", seconds)]))
        return responses

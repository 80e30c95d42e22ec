import numpy as np
import triton_python_backend_utils as pb_utils


class TritonPythonModel:
    """Answers its scores three times: with labels, without, and as integers."""

    def execute(self, requests):
        responses = []
        for request in requests:
            scores = pb_utils.get_input_tensor_by_name(request, "SCORES").as_numpy()
            outputs = {"CLASSES": scores, "PLAIN": scores, "WHOLE": (scores * 100).astype(np.int32)}
            wanted = request.requested_output_names()
            responses.append(
                pb_utils.InferenceResponse([pb_utils.Tensor(n, v) for n, v in outputs.items() if n in wanted])
            )
        return responses

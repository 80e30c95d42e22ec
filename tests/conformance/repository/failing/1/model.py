import numpy as np
import triton_python_backend_utils as pb_utils


class TritonPythonModel:
    """Fails in the way that HOW names."""

    def execute(self, requests):
        return [self._answer(request) for request in requests]

    def _answer(self, request):
        how = pb_utils.get_input_tensor_by_name(request, "HOW").as_numpy()[0].decode()
        good = pb_utils.Tensor("Y", np.ones(2, np.float32))
        if how == "raise":
            raise ValueError("the model raised")
        if how == "error":
            return pb_utils.InferenceResponse([], pb_utils.TritonError("the model said no"))
        if how == "invalid":
            return pb_utils.InferenceResponse([], pb_utils.TritonError("a bad value", pb_utils.TritonError.INVALID_ARG))
        if how == "missing":
            return pb_utils.InferenceResponse([])
        if how == "other":
            return pb_utils.InferenceResponse([pb_utils.Tensor("Z", np.ones(2, np.float32))])
        if how == "shape":
            return pb_utils.InferenceResponse([pb_utils.Tensor("Y", np.ones(3, np.float32))])
        if how == "type":
            return pb_utils.InferenceResponse([pb_utils.Tensor("Y", np.ones(2, np.int64))])
        return pb_utils.InferenceResponse([good])

import triton_python_backend_utils as pb_utils


class TritonPythonModel:
    """Hands its inputs on by DLPack, for which numpy needs no type: BF16 as it is, FP32 by a capsule."""

    def execute(self, requests):
        return [self._answer(request) for request in requests]

    def _answer(self, request):
        outputs = []
        for tensor in request.inputs():
            given = tensor.to_dlpack() if tensor.name() == "F" else tensor
            outputs.append(pb_utils.Tensor.from_dlpack(f"OUT_{tensor.name()}", given))
        return pb_utils.InferenceResponse(outputs)

import triton_python_backend_utils as pb_utils


class TritonPythonModel:
    """OUTPUT0 is the sum of both inputs, OUTPUT1 their difference."""

    def execute(self, requests):
        return [self._answer(request) for request in requests]

    def _answer(self, request):
        first = pb_utils.get_input_tensor_by_name(request, "INPUT0").as_numpy()
        second = pb_utils.get_input_tensor_by_name(request, "INPUT1").as_numpy()
        outputs = {"OUTPUT0": first + second, "OUTPUT1": first - second}
        wanted = request.requested_output_names()
        return pb_utils.InferenceResponse(
            [pb_utils.Tensor(name, value) for name, value in outputs.items() if name in wanted]
        )

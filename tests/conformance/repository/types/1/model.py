import triton_python_backend_utils as pb_utils


class TritonPythonModel:
    """Answers each input unchanged as OUT_ and its name; every input is optional."""

    def execute(self, requests):
        return [
            pb_utils.InferenceResponse(
                [
                    pb_utils.Tensor(f"OUT_{tensor.name()}", tensor.as_numpy())
                    for tensor in request.inputs()
                    if f"OUT_{tensor.name()}" in request.requested_output_names()
                ]
            )
            for request in requests
        ]

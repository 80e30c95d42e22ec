"""The differences that are meant, each with its reason; docs/reference/triton.md lists them for users."""

from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Known:
    """Cases whose names match `cases` may differ at places that match `places`."""

    reason: str
    cases: str
    places: str = ""

    def explains(self, name: str, place: str) -> bool:
        return bool(re.fullmatch(self.cases, name)) and bool(re.search(self.places, place))


ANSWER = r"^(\[\d\]\.)?(status|body|binary|content-type|error|code|returned|raised)\b"

KNOWN: tuple[Known, ...] = (
    Known(
        "A malformed request is the client's error: 400, where Triton answers 500.",
        r"http_.*",
        r"(status|raised|^\[1\]): '?400'?, Triton has '?500'?$",
    ),
    Known(
        "The server tells its own name, version and extensions; sequences and shared memory are not among them.",
        r".*server_metadata",
        r"\b(name|version|extensions):",
    ),
    Known(
        "Shared memory is refused: 400 or UNIMPLEMENTED, where Triton says that there is no such region.",
        r"shared\..*register.*|.*_shared_memory",
        r"(status|code|raised):",
    ),
    Known(
        "A model that the repository does not have is 404 or NOT_FOUND when it is loaded, where Triton answers 500.",
        r".*load.*",
        r"(status|raised|code): ('?404'?|'(StatusCode\.)?NOT_FOUND'), Triton has",
    ),
    Known(
        "A model whose files cannot be read is listed as UNAVAILABLE with the reason; Triton lists its name alone or "
        "not at all.",
        r"http_control\.load_(misnamed|versionless|malformed)",
        r"^\[1\]",
    ),
    Known(
        "Models made of files in a request are listed in the index.",
        r"http_control\.load_with_(files|two_versions)",
        r"^\[[234]\]: ",
    ),
    Known(
        "Loading without a configuration goes back to the one in the repository; Triton keeps the last one.",
        r"http_control\.load_with_config",
        r"^\[4\]\.",
    ),
    Known(
        "Unknown settings of tracing and logging, and values they cannot have, are refused; Triton ignores them or "
        "takes them for something else.",
        r"http_control\.(trace_settings|trace_settings_refused|log_settings_refused|client_settings)",
    ),
    Known(
        "Names in paths may be percent-encoded.",
        r"http_describe\.model_name_escaped",
        ANSWER,
    ),
    Known(
        "A model's own error counts as a failure; Triton counts it as a success.",
        r"http_describe\.stats_of_failures",
    ),
    Known(
        "An output that contradicts the configuration is converted to it or an error; Triton passes it on.",
        r"(http_errors\.model_makes|grpc_infer\.model)_.*(type|shape)",
    ),
    Known(
        "Numbers that do not fit their datatype are refused; Triton cuts them to it.",
        r"http_types\.(integer_beyond|float_large).*|grpc_infer\.typed_beyond_int8",
        ANSWER,
    ),
    Known(
        "FP32 in JSON is written with as many digits as it takes to read the same number; Triton writes more.",
        r"http_types\.fp32_.*|http_infer\.classes_zero",
        r"\.data\[\d\]: ",
    ),
    Known(
        "FP16 is also taken and given as JSON, BF16 given.",
        r"http_types\.(fp16_.*|bf16_to_json)|http_client\.infer_fp16_as_json",
        ANSWER,
    ),
    Known(
        "BYTES that are no text cannot be told in JSON: 400, where Triton answers what is no JSON.",
        r"http_types\.bytes_not_text_to_json",
        ANSWER,
    ),
    Known(
        "Answers are JSON whatever the request has in it; Triton repeats bytes that are no text.",
        r"http_errors\.json_not_utf8",
        ANSWER,
    ),
    Known(
        "A full queue is 429 with Retry-After, and a wait that took too long 504, where Triton answers 503 to both.",
        r"queueing\..*",
        r"(status|retry-after): ('1'|429|504), Triton has (503|none)",
    ),
    Known(
        "Surplus raw contents are refused; Triton ignores them.",
        r"grpc_infer\.raw_too_many",
        ANSWER,
    ),
    Known(
        "Deflate without the zlib header is taken, too.",
        r"http_errors\.deflate_raw",
        ANSWER,
    ),
    Known(
        "An unknown Content-Encoding is 400, where Triton answers 501.",
        r"http_errors\.encoding_unknown",
        r"^status: ",
    ),
    Known(
        "The generate extension is not offered.",
        r"http_infer\.generate",
        ANSWER,
    ),
)

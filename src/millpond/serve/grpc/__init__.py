"""gRPC: `inference.GRPCInferenceService` of Triton, on the same `ModelServer` as HTTP."""

from .server import GrpcServer, serve_grpc

__all__ = ["GrpcServer", "serve_grpc"]

"""The SDK over HTTP."""

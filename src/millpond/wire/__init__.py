"""Request and response shapes by noun, shared by the API and the client."""

"""What support needs to see of a server, without anything secret."""

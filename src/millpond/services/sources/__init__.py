"""What lies outside the lake: connections, imports, and sources that are brought in again and again."""

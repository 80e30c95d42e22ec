"""What services return, as `/api/v1` shows it. Other dialects of the API have shapes of their own."""

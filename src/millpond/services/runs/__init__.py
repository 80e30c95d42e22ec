"""What jobs and scripts leave behind: runs with their metrics and artifacts, and logs."""

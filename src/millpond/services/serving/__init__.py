"""What jobs that serve or run models bring along."""

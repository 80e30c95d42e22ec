"""What Prometheus scrapes: numbers of this process, of the whole system, and, for those who may, of projects."""

"""The process at a site: fills and evicts volumes, starts and watches jobs."""

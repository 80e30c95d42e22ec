"""What request logs say about models: drift against a reference, answers of a candidate compared with those given.

Jobs of endpoints run it near the log (`drift_job`, `replay_job`); the client does the same where somebody asks.
"""

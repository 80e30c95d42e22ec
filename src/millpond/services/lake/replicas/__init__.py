"""Replicas of the lake: kept up to date by the server, read by agents of the sites they are for."""

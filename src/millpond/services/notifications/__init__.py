"""Notifications: notices become messages to people, on the page and by the channels that they or projects have."""

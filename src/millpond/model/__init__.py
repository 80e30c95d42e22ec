"""The nouns as frozen values. No I/O, no clock, no imports from other layers."""

"""The model server: serves models of Triton's repository layout by the Open Inference Protocol.

Stands alone: it imports nothing else of Millpond, and itself only relatively, because jobs carry this folder as
`millpond_serve` into environments that have no Millpond.
"""

"""Who is told what, what is told together, when a delivery is tried again, and how it is worded."""

"""Jobs from submission to the bin: scheduling, placements, data, environments, streams into them."""

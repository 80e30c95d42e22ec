"""How an agent starts and watches work: one folder per kind behind one Protocol."""

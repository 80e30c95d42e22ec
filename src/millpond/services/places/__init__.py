"""Where things stand: sites, the links between them, volumes, and which volume serves whom."""

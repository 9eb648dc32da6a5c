"""Generated stand-ins for real data: how they are fitted, kept and drawn."""

"""The project's site: what the papers print, what we get and why, without running anything."""

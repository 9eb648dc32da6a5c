"""The project's site: published numbers, our results and reasons for differences, without running anything."""

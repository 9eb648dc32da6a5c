"""The papers: code that only replays one of them, and the figure and the tables that their notebooks share."""

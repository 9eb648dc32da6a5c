"""The papers: code that only replays one of them."""

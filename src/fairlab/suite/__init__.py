"""The suite: runs notebooks, keeps and judges what they record."""

"""Models under test, one file each; import the one you need from its own module."""

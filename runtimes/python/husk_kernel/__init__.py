"""Husk's Python kernel. A package, so that no file of a session (link.py, display.py, …) can be mistaken for it."""

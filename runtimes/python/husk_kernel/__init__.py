"""Husk's Python kernel. It is a package, so that no file of a session (link.py, display.py, …) can be mistaken for
it.
"""

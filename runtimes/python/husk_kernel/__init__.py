"""Husk's Python kernel. It is a package, so that a session's own link.py or display.py is not imported in place of
the kernel's modules.
"""

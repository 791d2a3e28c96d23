"""The displays of the kit's objects, a module for each group of classes.

Each function returns HTML. An object may be damaged, and its text may be of unknown origin.
"""

"""The oracle: a simulated model that answers every request from a world's script.

It stands in for a model when the environment and the search are tested apart from a model's vision:
whatever the perfect oracle (`miss=0, confuse=0`) gets wrong is the fault of the environment or the
search. It follows the rules that a model follows: it names only cells that are offered, and adds as
evidence only what a cell's frame shows. Beyond that, it knows where to search and how long each
event lasts.
"""

"""The record of a run: its events, trace, result, replay and recording."""

"""Export and import: passages of videos in the file formats of other programs.

passages  `Passage`, the row of the one table that every format writes and reads
timecode  seconds as frames of a file, by the file's own frame times; drop-frame timecode
tables    CSV, JSON, Camtrap-DP
editing   WebVTT, EDL, OpenTimelineIO, LosslessCut
coding    ELAN, BORIS, Label Studio
formats   `FORMATS`, the table of formats by the ending of a file's name; `write` and `read`
clips     parts of a video as films with sound

Files come from anywhere: each reader is bounded, expands no entity, and raises InputError with one
sentence. Nothing here knows of results, rows or pages.
"""

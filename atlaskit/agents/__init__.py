"""Video-RLM: the master and the workers that search a video (paper §3.2).

`search.ask` sets a run up as `settings.Search` says, and `loop.Loop` is its rounds. `run.Run` is
the run object of all systems; the others lie in `atlaskit.methods`.
"""

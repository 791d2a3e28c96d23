"""Video-RLM: the master and the workers that search a video (paper §3.2).

`search.ask` sets a run up as `settings.Search` says. Its rounds are those of `looking.Looking`, the
search by looks, which is the default, or of `loop.Loop`, the paper's search. `run.Run` is the run
object of all systems; the others lie in `atlaskit.methods`.
"""

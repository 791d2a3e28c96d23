"""Video-RLM: the master and the workers that search a video (paper §3.2), and the baselines (§4.1).

`search.ask` sets a run up as `settings.Search` says, `loop.Run` runs its rounds, `baselines` holds
the other methods.
"""

"""Everything that is looked at: figures, notebook displays, pages, movies, widgets."""

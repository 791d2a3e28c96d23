"""Everything that is looked at: figures, notebook displays, pages, widgets."""

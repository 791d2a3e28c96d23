"""Small notebooks that tests write themselves."""

from pathlib import Path

import nbformat


def write_notebook(path: Path, *sources: str) -> Path:
    """Write a notebook of code cells; the first one is tagged as its parameters."""
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    notebook = nbformat.v4.new_notebook(metadata={"kernelspec": kernel})
    notebook.cells = [nbformat.v4.new_code_cell(source) for source in sources]
    notebook.cells[0].metadata["tags"] = ["parameters"]
    nbformat.write(notebook, path)
    return path

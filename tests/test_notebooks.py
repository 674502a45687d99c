"""The notebooks of the docs run from the first cell to the last."""

from pathlib import Path

import pytest

NOTEBOOKS = sorted((Path(__file__).parents[1] / "docs" / "notebooks").glob("*.ipynb"))


@pytest.mark.slow
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs_to_its_end(path, tmp_path):
    nbclient, nbformat = pytest.importorskip("nbclient"), pytest.importorskip("nbformat")
    page = nbformat.read(path, as_version=4)
    assert not [cell for cell in page.cells if cell.get("outputs")], "outputs are not kept in the project"
    nbclient.NotebookClient(page, timeout=500, resources={"metadata": {"path": str(tmp_path)}}).execute()
    said = [cell.outputs for cell in page.cells if cell.cell_type == "code"]
    assert any(said)

"""The documents lead where they say, in the sources and where a package puts them."""

import sys

from links import dead_links
from muster import ROOT

sys.path.insert(0, str(ROOT / "scripts"))
import package  # noqa: E402


def test_no_link_of_the_documents_is_dead():
    pages = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]
    assert len(pages) > 20 and dead_links(pages) == []


def test_an_installed_document_leads_to_installed_ones(tmp_path):
    """Pictures, openapi.json and grafana.json are there; of the sources only words are."""
    package.put_documents(tmp_path)
    pages = list(tmp_path.rglob("*.md"))
    assert dead_links(pages) == []
    for file in (ROOT / "docs").rglob("*"):
        assert (tmp_path / file.relative_to(ROOT)).exists(), file
    readme = (tmp_path / "README.md").read_text()
    assert "(docs/openapi.json)" in readme and "(CHANGELOG.md)" in readme
    assert "| CONTRIBUTING.md |" in readme, "it speaks of the sources, which are not there"

"""How Sphinx makes the site from what lies in the repository: `sphinx-build -EW -c docs . build/site`."""

import logging
import os
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE / "extensions"), str(HERE.parent)]

import normexp  # noqa: E402

os.environ["COLUMNS"] = "100"  # of the commands' help
logging.getLogger("normexp").setLevel("WARNING")  # the examples' progress

project = "normexp"
release = version = normexp.__version__
copyright = "the authors of normexp, MIT licence"  # Sphinx's name for it
root_doc = "docs/index"
include_patterns = [
    "docs/**",
    "*.md",
    "normexp/SKILL.md",
    "results/claims.md",
    "results/bench/*.md",
    "results/*/*/*.md",
]
exclude_patterns = [
    ".*",
    "build",
    "data",
    "results/runs",
    "docs/examples",
    "results/*/*/figures.md",  # both stand in the page of their experiment
    "results/*/*/numbers.md",
]
extensions = [
    "myst_parser",
    "sphinx_design",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx_gallery.gen_gallery",
    "accessible",
    "commands",
    "docstrings",
    "experiments",
    "options",
    "repository",
]
myst_enable_extensions = ["colon_fence"]
myst_heading_anchors = 4
default_role = "code"
highlight_language = "none"
autodoc_typehints = "none"
autodoc_member_order = "bysource"
napoleon_use_rtype = False

sphinx_gallery_conf = {
    "examples_dirs": "docs/examples",
    "gallery_dirs": "docs/gallery",
    "filename_pattern": r".*\.py",
    "within_subsection_order": "FileNameSortKey",
    "abort_on_example_error": True,
    "download_all_examples": False,
    "remove_config_comments": True,
    "show_signature": False,
    "write_computation_times": False,
}

html_theme = "furo"
html_title = "normexp"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_additional_pages = {"index": "start.html"}
templates_path = ["templates"]
html_show_sphinx = False
html_copy_source = False
html_show_search_summary = False  # a browser fetches nothing beside a page from disk

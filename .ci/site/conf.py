"""Configuration of Sphinx for the documentation site (.ci/build-site).

The pages are the repository's own Markdown files, where they lie. The navigation is below; folders that a page
links to lead to their README.md, and files that are no pages are offered as they are.
"""

import pathlib
import re


project = "mirfak"
extensions = ["myst_parser"]
source_suffix = {".md": "markdown"}
root_doc = "README"
html_theme = "furo"
html_title = "mirfak"
html_copy_source = False
html_show_sphinx = False
html_show_copyright = False
templates_path = []
html_static_path = ["static"]
html_css_files = ["style.css"]
myst_heading_anchors = 4
exclude_patterns = ["build", "_site/extra", "tests/cli/files"]

# Captions of the navigation, and the pages below each: a page, or a title for a page whose own says less here.
NAVIGATION = [
    (
        "Users",
        [
            "sim/GUIDE",
            "scenarios/tutorials/README",
            "_site/gallery",
            "Files to start from <scenarios/README>",
        ],
    ),
    (
        "Reference",
        [
            "_site/commands",
            "Keys of scenarios <sim/files/scenario/README>",
            "Figures and JSON <sim/faces/report/README>",
            "Python <sim/faces/python/README>",
            "_site/python",
            "Captured programs <sim/faces/python/mirfak/capture/README>",
            "Files that are read <sim/files/import/README>",
            "Files for training programs <sim/files/launch/README>",
            "All formats <sim/FORMATS>",
        ],
    ),
    (
        "Models and machines",
        ["models/README", "hw_profiles/README", "hw_profiles/frameworks/README", "Blocks <sim/description/block/README>"],
    ),
    (
        "How far off",
        [
            "Measure, calibrate, compare <validate/README>",
            "validate/published/REPORT",
            "Tables of measured runs <validate/published/README>",
            "Methods <sim/METHODS>",
        ],
    ),
    ("Developers", ["CONTRIBUTING", "The sources <sim/README>", "Changes <CHANGELOG>"]),
]


def page_of(entry):
    """The page of an entry, without its title."""
    return entry[entry.index("<") + 1 : -1] if entry.endswith(">") else entry


def navigation(others):
    """The directives of the table of contents: one tree for each caption, and one of all other pages."""
    trees = []
    for caption, pages in [*NAVIGATION, ("Rooms and folders", others)]:
        lines = "\n".join(page.replace("<", "</") if page.endswith(">") else f"/{page}" for page in pages)
        trees.append(f"```{{toctree}}\n:hidden:\n:maxdepth: 1\n:caption: {caption}\n\n{lines}\n```\n")
    return "\n".join(trees)


LINK = re.compile(r"\]\(([^)#\s]+?)/?(#[^)\s]*)?\)")


def resolve_folders(source_dir, docname, text):
    """Links to folders become links to their README.md."""
    folder = (pathlib.Path(source_dir) / docname).parent

    def to_page(match):
        target, anchor = match.group(1), match.group(2) or ""
        if "://" in target or not (folder / target).is_dir():
            return match.group(0)
        return f"]({target}/README.md{anchor})"

    return LINK.sub(to_page, text)


def on_source_read(app, docname, source):
    text = resolve_folders(app.srcdir, docname, source[0])
    if docname == root_doc:
        listed = {page_of(entry) for _, entries in NAVIGATION for entry in entries} | {root_doc}
        others = sorted(f"{page.removesuffix('/README')} <{page}>" for page in app.env.found_docs if page not in listed)
        text += "\n" + navigation(others)
    source[0] = text


def setup(app):
    app.connect("source-read", on_source_read)
    return {"parallel_read_safe": True}

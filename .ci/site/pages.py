"""Writes the pages of the site that follow from the program: its commands, its Python package, its gallery.

usage: pages.py MIRFAK SOURCE OUT [CHROMIUM]
"""

import ast
import pathlib
import re
import subprocess
import sys

# Title, what to see, and the command that makes it; OUT stands for the file.
GALLERY = [
    ("An iteration", "page", "mirfak simulate scenarios/gpt3-175b-a100.yaml --report OUT"),
    ("A search", "page", "mirfak search scenarios/search-llama2-70b-h100.yaml --report OUT"),
    ("Clocks that save energy", "page", "mirfak frontier scenarios/gpt3-175b-a100.yaml --report OUT"),
    ("A training with failures", "page", "mirfak train scenarios/train-llama3-405b-h100.yaml --report OUT"),
    ("Clouds compared", "page", "mirfak compare scenarios/options/llama3-70b-clouds.yaml --report OUT"),
    ("Two jobs that share links", "page", "mirfak simulate scenarios/jobs/two-llama2-70b-h100.yaml --report OUT"),
    ("Predictions against measurements", "page", "mirfak validate validate/published/mlperf-pretrain.csv --report OUT"),
    ("A network and the use of its links", "picture", "mirfak simulate scenarios/llama2-70b-h100.yaml --links OUT"),
]


def run(mirfak, arguments, source, status=(0,)):
    done = subprocess.run([mirfak, *arguments], cwd=source, capture_output=True, text=True)
    if done.returncode not in status:
        sys.exit(f"mirfak {' '.join(arguments)}: status {done.returncode}\n{done.stderr}")
    return done.stdout


def commands(mirfak, source):
    """A page of all commands with their options, as --help prints them."""
    overview = run(mirfak, ["--help"], source)
    names = re.findall(r"^  (\w+) +\S", overview, re.M)
    parts = ["# Commands", "", "What `mirfak --help` and `mirfak COMMAND --help` print.", "", "```text", overview, "```"]
    for name in names:
        parts += ["", f"## mirfak {name}", "", "```text", run(mirfak, [name, "--help"], source), "```"]
    return "\n".join(parts) + "\n"


def described(node, indent=""):
    """A function or class of Python's own syntax: its declaration and its docstring."""
    docstring = ast.get_docstring(node) or ""
    if isinstance(node, ast.FunctionDef):
        returns = f" -> {ast.unparse(node.returns)}" if node.returns else ""
        heading = f"{node.name}({ast.unparse(node.args)}){returns}"
    else:
        heading = f"class {node.name}({', '.join(ast.unparse(base) for base in node.bases)})"
    members = [child for child in node.body if isinstance(child, ast.FunctionDef) and not child.name.startswith("_")]
    text = [f"{indent}{heading}", *(f"{indent}    {line}".rstrip() for line in docstring.splitlines()), ""]
    if isinstance(node, ast.ClassDef):
        for member in members:
            text += described(member, indent + "    ")
    return text


def python(source):
    """A page of the functions and classes of the Python package that are public, from its sources."""
    folder = source / "sim/faces/python/mirfak"
    nodes = {}
    public = []
    for path in sorted(folder.glob("*.py")):
        for node in ast.parse(path.read_text()).body:
            if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
                nodes[node.name] = node
            if path.name == "_functions.py" and isinstance(node, ast.Assign) and node.targets[0].id == "__all__":
                public = ast.literal_eval(node.value)
    parts = ["# Python functions", "", "The [package](../sim/faces/python/README.md), declared."]
    # Functions first: classes are what they return.
    for name in sorted(public, key=lambda name: isinstance(nodes.get(name), ast.ClassDef)):
        if name in nodes:
            parts += ["", f"## mirfak.{name}", "", "```text", *described(nodes[name]), "```"]
    return "\n".join(parts) + "\n"


def picture_of(chromium, page, image):
    subprocess.run(
        [chromium, "--headless=new", "--no-sandbox", "--hide-scrollbars", "--window-size=1400,900",
         "--virtual-time-budget=4000", f"--screenshot={image}", page.as_uri()],
        check=True, capture_output=True, timeout=120,
    )


def gallery(mirfak, source, out, chromium):
    extra = out / "extra" / "gallery"
    extra.mkdir(parents=True, exist_ok=True)
    parts = ["# Gallery", "", "Pages and pictures that commands write, each one file that needs nothing else."]
    for number, (title, kind, command) in enumerate(GALLERY, 1):
        name = f"{number}.{'html' if kind == 'page' else 'svg'}"
        run(mirfak, [str(extra / name) if word == "OUT" else word for word in command.split()[1:]], source, (0, 3))
        shown = command.replace("OUT", "report.html" if kind == "page" else "links.svg")
        parts += ["", f"## {title}", "", "```sh", shown, "```", ""]
        image = f"{number}.png"
        if kind == "picture":
            parts.append(f'<a href="../gallery/{name}"><img src="../gallery/{name}" alt="{title}" width="100%"></a>')
        elif chromium:
            picture_of(chromium, extra / name, extra / image)
            parts.append(f'<a href="../gallery/{name}"><img src="../gallery/{image}" alt="{title}" width="100%"></a>')
        else:
            parts.append(f'<a href="../gallery/{name}">{title}</a>')
    return "\n".join(parts) + "\n"


def contents_of_folders(source):
    """A page for each folder that a page links to and that has none: what lies there."""
    link = re.compile(r"\]\(([^)#\s:]+?)/?(?:#[^)\s]*)?\)")
    for page in list(source.rglob("*.md")):
        for target in link.findall(page.read_text()):
            folder = (page.parent / target).resolve()
            if not folder.is_dir() or (folder / "README.md").exists():
                continue
            entries = sorted(path for path in folder.iterdir())
            lines = [f"- [{path.name}]({path.name})" for path in entries if path.is_file() or (path / "README.md").exists()]
            title = folder.relative_to(source.resolve())
            (folder / "README.md").write_text("\n".join([f"# {title}", "", *lines, ""]))


def main():
    mirfak, source, out = sys.argv[1], pathlib.Path(sys.argv[2]), pathlib.Path(sys.argv[3])
    chromium = sys.argv[4] if len(sys.argv) > 4 else ""
    out.mkdir(parents=True, exist_ok=True)
    (out / "commands.md").write_text(commands(mirfak, source))
    (out / "python.md").write_text(python(source))
    (out / "gallery.md").write_text(gallery(mirfak, source, out, chromium))
    contents_of_folders(source)


main()

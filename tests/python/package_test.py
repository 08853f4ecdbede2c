"""The package as installed: its version, data, documentation and types."""

import ast
import contextlib
import importlib.metadata
import inspect
import io
import os
import pathlib
import re
import unittest

import mirfak
from mirfak import _mirfak

SOURCE = pathlib.Path(os.environ["MIRFAK_SOURCE"])
FOLDER = pathlib.Path(mirfak.__file__).parent


def stub():
    return ast.parse((FOLDER / "_mirfak.pyi").read_text())


def public(names):
    return {name for name in names if not name.startswith("_")}


class Package(unittest.TestCase):
    def test_it_is_the_installed_one(self):
        self.assertFalse(FOLDER.is_relative_to(SOURCE / "sim"))

    def test_version(self):
        (expected,) = re.findall(r"project\(mirfak VERSION ([0-9.]+)", (SOURCE / "CMakeLists.txt").read_text())
        self.assertEqual(mirfak.__version__, expected)
        self.assertEqual(importlib.metadata.version("mirfak"), expected)

    def test_data(self):
        for folder in ("models", "hw_profiles", "scenarios"):
            ours = {path.relative_to(SOURCE / folder) for path in (SOURCE / folder).rglob("*.yaml")}
            theirs = {path.relative_to(FOLDER / "data" / folder) for path in (FOLDER / "data" / folder).rglob("*.yaml")}
            self.assertTrue(ours)
            self.assertEqual(ours, theirs)

    def test_nothing_else_is_in_it(self):
        files = {str(path).split("/")[0] for path in importlib.metadata.files("mirfak")}
        self.assertEqual({name for name in files if not name.endswith(".dist-info")} - {"__pycache__", ".."}, {"mirfak"})
        outside = [path for path in map(str, importlib.metadata.files("mirfak")) if path.startswith("..")]
        self.assertEqual([pathlib.Path(path).name for path in outside], ["mirfak"], "the command alone")

    def test_who_made_it_and_under_which_licence(self):
        said = importlib.metadata.metadata("mirfak")
        self.assertEqual(said["License"], "Apache-2.0")
        self.assertIn("authors of mirfak", said["Author"])
        self.assertIn("Programming Language :: Python :: 3.12", said.get_all("Classifier"))
        self.assertTrue(any(path.name == "LICENSE" for path in importlib.metadata.files("mirfak")))


class Documentation(unittest.TestCase):
    def test_everything_public_is_documented(self):
        for name in mirfak.__all__:
            thing = getattr(mirfak, name)
            if inspect.isclass(thing) or inspect.isroutine(thing):
                self.assertTrue(inspect.getdoc(thing), name)
            if inspect.isclass(thing):
                for member in public(vars(thing)):
                    if callable(getattr(thing, member)) or isinstance(vars(thing)[member], property):
                        self.assertTrue(inspect.getdoc(vars(thing)[member]), f"{name}.{member}")

    def test_arguments_are_documented(self):
        for name in mirfak.__all__:
            function = getattr(mirfak, name)
            if not inspect.isfunction(function):
                continue
            said = inspect.getdoc(function)
            for argument in inspect.signature(function).parameters.values():
                if argument.kind is inspect.Parameter.KEYWORD_ONLY and "as of simulate()" not in said:
                    if argument.name != "data":
                        self.assertIn(argument.name, said, name)


    def test_documented_code_runs(self):
        """Blocks that import mirfak, from the top of the sources, as a reader runs them."""
        before = os.getcwd()
        os.chdir(SOURCE)
        try:
            for page in ("README.md", "sim/faces/python/README.md"):
                blocks = re.findall(r"^```python\n(import mirfak\n.*?)^```", (SOURCE / page).read_text(), re.M | re.S)
                self.assertEqual(len(blocks), 1, page)
                with self.subTest(page), contextlib.redirect_stdout(io.StringIO()):
                    exec(compile(blocks[0], page, "exec"), {})
        finally:
            os.chdir(before)


class Types(unittest.TestCase):
    def test_it_says_that_it_has_types(self):
        self.assertTrue((FOLDER / "py.typed").exists())

    def test_functions_are_annotated(self):
        for path in FOLDER.glob("*.py"):
            for node in ast.walk(ast.parse(path.read_text())):
                if isinstance(node, ast.FunctionDef) and node.name != "<lambda>":
                    with self.subTest(f"{path.name}: {node.name}"):
                        self.assertIsNotNone(node.returns)
                        every = node.args.args + node.args.kwonlyargs
                        self.assertTrue(all(a.annotation or a.arg in ("self", "cls") for a in every))

    def test_the_stub_has_what_the_extension_exports(self):
        body = stub().body
        classes = {node.name: node for node in body if isinstance(node, ast.ClassDef)}
        functions = {node.name for node in body if isinstance(node, ast.FunctionDef)}
        functions |= {node.target.id for node in body if isinstance(node, ast.AnnAssign)}
        exported = public(vars(_mirfak))
        self.assertEqual({name for name in exported if inspect.isclass(getattr(_mirfak, name))}, set(classes))
        self.assertEqual({name for name in exported if not inspect.isclass(getattr(_mirfak, name))}, functions)
        for name, node in classes.items():
            known = {member.name for member in node.body if isinstance(member, ast.FunctionDef)}
            known |= {member.target.id for member in node.body if isinstance(member, ast.AnnAssign)}
            self.assertEqual(public(vars(getattr(_mirfak, name))), public(known), name)

    def test_the_stub_says_what_comes_back(self):
        classes = {node.name: node for node in stub().body if isinstance(node, ast.ClassDef)}
        says = {node.name: ast.unparse(node.returns) for node in classes["Result"].body
                if isinstance(node, ast.FunctionDef)}
        self.assertEqual(says["iteration_time_s"], "float")
        self.assertEqual(says["gpus"], "int")
        self.assertEqual(says["training_time_s"], "float | None")
        self.assertIn("DataFrame", says["stages"])
        untyped = {name for name, of in says.items() if of in ("object", "Any", "typing.Any")}
        self.assertFalse(untyped)


if __name__ == "__main__":
    unittest.main()

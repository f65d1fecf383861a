"""The examples of help(), docs/python.md and docs/tour.md match their output."""
import doctest
import os
import pathlib
import re

import weir
import weir._ready_made
import weir._weir


def run_examples(module, globs):
    runner = doctest.DocTestRunner()
    for test in doctest.DocTestFinder().find(module, module.__name__, module=False, globs=dict(globs)):
        runner.run(test)
    return runner.summarize()


def test_examples_of_the_types():
    outcome = run_examples(weir._weir, vars(weir._weir))
    assert outcome.failed == 0 and outcome.attempted > 30


def test_examples_of_the_package():
    for module in (weir, weir._ready_made):
        outcome = run_examples(module, vars(module))
        assert outcome.failed == 0 and outcome.attempted >= 3


def test_everything_public_is_documented():
    for name in weir.__all__:
        thing = getattr(weir, name)
        assert thing.__doc__, name
        if isinstance(thing, type) and not issubclass(thing, (tuple, Exception)):
            for method, value in vars(thing).items():
                assert method.startswith("__") or value.__doc__, f"{name}.{method}"


def test_the_example_of_the_readme():
    page = (pathlib.Path(os.environ["WEIR_SOURCE"]) / "docs" / "tour.md").read_text()
    (code,) = re.findall(r"^```python\n(.*?)^```", page, re.M | re.S)
    names = {"urls": ["/a", "/b", "/a"]}
    exec(code, names)
    assert names["fresh"] == ["/a", "/b"]


def test_examples_of_the_page(source, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    page = (source / "docs" / "python.md").read_text()
    sessions = re.findall(r"^```pycon\n(.*?)^```", page, re.M | re.S)
    test = doctest.DocTestParser().get_doctest("\n".join(sessions), {}, "docs/python.md", "docs/python.md", 0)
    runner = doctest.DocTestRunner()
    runner.run(test)
    outcome = runner.summarize()
    assert outcome.failed == 0 and outcome.attempted > 40


def test_names_on_the_page_exist(source):
    page = (source / "docs" / "python.md").read_text()
    names = re.findall(r"`weir\.(\w+)", page)
    assert len(names) > 10
    for name in names:
        assert hasattr(weir, name) or name in ("scrapy", "so"), name
    settings = dict(re.findall(r"^(\w+) = (\S+)", page, re.M))
    text = (source / "bindings" / "python" / "weir" / "scrapy.py").read_text()
    for name, value in settings.items():
        assert f"{name} = {value}" in text, name

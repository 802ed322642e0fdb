"""What is printed, and how."""

import io
import json
import sys

from dsh_mnemon_core.errors import InputError
from dsh_mnemon_host.cli import output


def test_what_the_terminal_cannot_show_is_escaped(monkeypatch):
    raw = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(raw, encoding="ascii"))
    output.print_text("naïve 😀 \udcff")
    assert raw.getvalue() == b"na\\xefve \\U0001f600 \\udcff\n"
    raw, silent = io.BytesIO(), io.StringIO()
    monkeypatch.setattr(sys, "stdout", silent)
    output.print_json({"ü": [1]})
    assert silent.getvalue() == '{\n  "ü": [\n    1\n  ]\n}\n'


def test_errors_are_text_or_one_document(capsys):
    error = InputError("some-code", "Something.", details={"field": "x"})
    output.print_error(error, as_json=False)
    output.print_error(error, as_json=True)
    out, err = capsys.readouterr()
    assert err == "error: Something. [some-code]\n"
    assert json.loads(out) == {
        "error": {"code": "some-code", "message": "Something.", "details": {"field": "x"}}
    }

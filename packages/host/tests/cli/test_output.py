"""What is printed, and how."""

import io
import json
import sys

import pytest
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


def test_json_stays_json_where_the_encoding_lacks_something(monkeypatch):
    value = {"naïve": "字 😀 \udcff", "plain": ["a\\b"]}
    for encoding in ("ascii", "latin-1", "utf-8", "gbk"):
        raw = io.BytesIO()
        monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(raw, encoding=encoding))
        output.print_json(value)
        output.print_document('{"ü": "é"}\n')
        document, _, line = raw.getvalue().decode(encoding).rstrip("\n").rpartition("\n")
        assert json.loads(document) == value
        assert json.loads(line) == {"ü": "é"}
    with pytest.raises(UnicodeDecodeError):
        b"\xff".decode("ascii", "dsh-mnemon.json")


def test_errors_are_text_or_one_document(capsys):
    error = InputError("some-code", "Something.", details={"field": "x"})
    output.print_error(error, as_json=False)
    output.print_error(error, as_json=True)
    out, err = capsys.readouterr()
    assert err == "error: Something. [some-code]\n"
    assert json.loads(out) == {
        "error": {"code": "some-code", "message": "Something.", "details": {"field": "x"}}
    }


def test_control_characters_are_shown_and_never_sent_to_a_terminal(capsys):
    text = "a\x1b[2Jb\tc\nd\x9be\x7f"
    shown = "a\\x1b[2Jb\tc\nd\\x9be\\x7f"
    output.print_text(text)
    output.print_error(InputError("some-code", text), as_json=False)
    output.print_json(text)
    out, err = capsys.readouterr()
    answer, document = out.split('\n"')
    assert answer == shown
    assert json.loads('"' + document) == text
    assert shown in err

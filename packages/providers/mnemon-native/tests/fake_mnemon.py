#!/usr/bin/env python3
"""A stand-in for the command line tool: prints what a file beside it says, and keeps a record.

``replies.json`` maps the first word of a command to ``{"out"?, "err"?, "code"?, "sleep"?}`` or a
list of such, used up in turn.
"""

import json
import os
import sys
import time
from pathlib import Path

home = Path(__file__).parent
arguments = sys.argv[1:]
store = arguments[arguments.index("--store") + 1]
words = arguments[4:]
draft = None
if "import" in words:
    file = Path(words[words.index("import") + 1])
    draft = {"mode": oct(file.stat().st_mode & 0o777), **json.loads(file.read_text("utf-8"))}
env = {key: value for key, value in os.environ.items() if key.startswith("MNEMON_")}
with (home / "calls.jsonl").open("a", encoding="utf-8") as record:
    call = {"base": arguments[1], "store": store, "words": words, "draft": draft, "env": env}
    record.write(json.dumps(call) + "\n")
replies = json.loads((home / "replies.json").read_text("utf-8"))
name = next(word for word in words if not word.startswith("-"))
reply = replies.get(name, {"out": {}})
if isinstance(reply, list):
    reply, replies[name] = reply[0], reply[1:] or reply[-1]
    (home / "replies.json").write_text(json.dumps(replies), "utf-8")
time.sleep(reply.get("sleep", 0))
out = reply.get("out", "")
sys.stdout.write(out if isinstance(out, str) else json.dumps(out))
sys.stderr.write(reply.get("err", ""))
sys.exit(reply.get("code", 0))

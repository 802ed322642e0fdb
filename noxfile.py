"""Every check of the repository: `uv run nox` runs them all, `uv run nox --list` names them.

A session without a Python of its own uses the one nox runs on. A Python that the machine lacks is
skipped, never downloaded, and named at the end of the run.
"""

from __future__ import annotations

import atexit
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

import nox

ROOT = Path(__file__).resolve().parent
sys.path.insert(0, str(ROOT))

from tools.workspace import Member, read_members  # noqa: E402 - importable only from here on

PYTHONS = nox.project.python_versions(nox.project.load_toml("pyproject.toml"))
THIS_PYTHON = f"{sys.version_info.major}.{sys.version_info.minor}"
EVERY_MEMBER = read_members(ROOT)
MEMBERS = {member.name.removeprefix("dsh-mnemon-"): member for member in EVERY_MEMBER}
MEMBERS["starter"] = MEMBERS.pop("dsh-mnemon")
PACKAGES = [nox.param(name, id=name) for name in MEMBERS]
TESTED = [nox.param(name, id=name) for name, member in MEMBERS.items() if member.has_tests]
TEST_KIT = MEMBERS["testing"]
PARALLEL = ("-n", str((os.cpu_count() or 1) + 1), "--dist", "worksteal")
"""One worker more than cores, for many tests wait for a process or the disk."""
ESSENTIAL = ("-k", "golden or contract or plugin")
"""What is run once more where a whole second run would say nothing new: formats and protocols."""
FEW = {"host": ESSENTIAL, "testing": ("-k", "golden or plugin")}
"""What runs of a package alone that keeps no contract and whose tests take long."""
WHOLE = ("core", "host", "testing")
PLUGINS = ("sources", "strategies", "enhancements", "providers")
DIST = ROOT / "dist"
REPORT = ROOT / ".nox" / "report.json"

nox.needs_version = ">=2025.11"
nox.options.default_venv_backend = "uv"
nox.options.download_python = "never"
nox.options.error_on_missing_interpreters = False
nox.options.reuse_venv = "yes"
nox.options.report = str(REPORT)


def _show_pyenv() -> None:
    """Put the Pythons that pyenv holds on the path; its shims stand for the selected ones only."""
    pyenv = shutil.which("pyenv")
    if pyenv is None:
        return
    root = subprocess.run([pyenv, "root"], capture_output=True, text=True, check=True).stdout
    versions = Path(root.strip()) / "versions"
    folders = [str(path) for version in PYTHONS for path in versions.glob(f"{version}.*[0-9]/bin")]
    os.environ["PATH"] = os.pathsep.join([*folders, os.environ["PATH"]])


def _newest() -> str:
    """Return the newest of the Pythons that are here."""
    return [version for version in PYTHONS if shutil.which(f"python{version}")][-1]


def _sync(session: nox.Session, *arguments: str) -> None:
    """Make the environment of the session hold what the lock says, and nothing else."""
    where = session.virtualenv.location
    session.run_install(
        *("uv", "sync", "--quiet", f"--python={where}", *arguments),
        env={"UV_PROJECT_ENVIRONMENT": where},
        external=True,
    )


@nox.session
def lint(session: nox.Session) -> None:
    """Check format, rules, floors, registration, names, sizes, changes and the lock."""
    _sync(session, "--locked", "--all-packages")
    session.run("ruff", "format", "--check")
    session.run("ruff", "check")
    session.run("lint-imports", "--no-logo")
    for tool in ("floors", "registration", "requirements", "check_all", "lines"):
        session.run("python", "-m", f"tools.{tool}")
    for member in EVERY_MEMBER:
        session.run(*_towncrier(member), "--draft", silent=True)
    session.run("uv", "lock", "--check", "--quiet", external=True)


@nox.session
def types(session: nox.Session) -> None:
    """Check the types with mypy and pyright, for the oldest and the newest Python."""
    _sync(session, "--locked", "--all-packages")
    python = str(Path(session.bin) / "python")
    sources = [str(member.source) for member in EVERY_MEMBER]
    for version in (PYTHONS[0], PYTHONS[-1]):
        session.run("mypy", f"--python-version={version}", *sources, "tools", "noxfile.py")
        session.run("pyright", f"--pythonpath={python}", f"--pythonversion={version}")


@nox.session(python=PYTHONS)
def tests(session: nox.Session) -> None:
    """Run every test and measure how much of each package ran; other Pythons test the packages."""
    _sync(session, "--locked", "--all-packages")
    if session.posargs:
        session.run("pytest", *PARALLEL, *session.posargs)
    elif session.python == THIS_PYTHON:
        _test_all(session)
    elif session.python == _newest():
        _test_most(session)
    else:
        session.run("pytest", *PARALLEL, *ESSENTIAL, "packages")


def _test_all(session: nox.Session) -> None:
    """Measure what the packages' own tests run, then try the whole from outside, unmeasured.

    What runs whole processes and real clients says the same on every Python: once is enough.
    """
    report = str(Path(session.create_tmp()) / "coverage.json")
    session.run("coverage", "erase")
    session.run("coverage", "run", "-m", "pytest", *PARALLEL, "packages", "starter", "tools")
    session.run("coverage", "combine", "--quiet")
    session.run("coverage", "report", "--skip-covered")
    session.run("coverage", "json", "--quiet", "-o", report)
    session.run("python", "-m", "tools.covered", report)
    session.run("pytest", *PARALLEL, "tests-integration")


def _test_most(session: nox.Session) -> None:
    """Run core, Host and test kit whole, and of the plugins the contracts and goldens."""
    session.run("pytest", *PARALLEL, *(f"packages/{floor}" for floor in WHOLE))
    session.run("pytest", *PARALLEL, *ESSENTIAL, *(f"packages/{floor}" for floor in PLUGINS))


@nox.session
@nox.parametrize("package", TESTED)
def isolated(session: nox.Session, package: str) -> None:
    """Test one package with only its own dependencies, its `dev` group and the test kit.

    Every test module is imported; of a package with many tests only contracts and goldens run.
    """
    member = MEMBERS[package]
    chosen = ESSENTIAL if _contract(member).is_file() else FEW.get(package, ())
    names = sorted({member.name, TEST_KIT.name})
    wanted = [f"--package={name}" for name in names]
    _sync(session, "--locked", "--all-extras", *wanted)
    session.run("pytest", *chosen, str(member.folder / "tests"))


@nox.session(python=PYTHONS[0])
def lowest(session: nox.Session) -> None:
    """Test every package with the oldest releases it claims to work with."""
    # In a copy, because another resolution writes another lock.
    copy = Path(session.create_tmp()) / "workspace"
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(ROOT, copy, ignore=shutil.ignore_patterns(".*", "dist", "__pycache__"))
    with session.chdir(copy):
        _sync(session, "--resolution=lowest-direct", "--all-packages", "--no-dev", "--group=test")
        _test_most(session)


@nox.session
def build(session: nox.Session) -> None:
    """Build every wheel and sdist, look into them, and write the constraints that pin them."""
    _sync(session, "--locked", "--only-dev")
    shutil.rmtree(DIST, ignore_errors=True)
    out = ("--no-sources", "--quiet", f"--out-dir={DIST}")
    session.run("uv", "build", "--all-packages", *out, external=True)
    session.run("check-wheel-contents", str(DIST))
    session.run("python", "-m", "tools.check_wheels", str(DIST))


@nox.session(requires=["build"], reuse_venv=False)
@nox.parametrize("package", PACKAGES)
def installed(session: nox.Session, package: str) -> None:
    """Install one built package into a clean environment, look around, and use it."""
    _install(session, MEMBERS[package])
    _use(session, MEMBERS[package])


@nox.session(
    python=[version for version in PYTHONS if version != THIS_PYTHON],
    requires=["build"],
    reuse_venv=False,
)
def installed_starter(session: nox.Session) -> None:
    """Install the built starter into a clean environment of every other Python, and use it."""
    _install(session, MEMBERS["starter"])
    _use(session, MEMBERS["starter"])


@nox.session(requires=["build"], venv_backend="venv", reuse_venv=False)
def pip_installed(session: nox.Session) -> None:
    """Install the built starter as most people will, with venv and pip, and use it."""
    # By file: older pips cannot join a constraint that is a file with the name of an extra.
    closure = MEMBERS["starter"].closure(EVERY_MEMBER)
    session.install(*(str(file) for part in closure for file in DIST.glob(f"{part.package}-*.whl")))
    session.run("pip", "check")
    _use(session, MEMBERS["starter"])


def _wanted(member: Member) -> list[Member]:
    """Return what its installation asks for: itself, and the test kit if it keeps a contract."""
    return [member, TEST_KIT] if _contract(member).is_file() else [member]


def _contract(member: Member) -> Path:
    return member.folder / "tests" / "test_contract.py"


def _install(session: nox.Session, member: Member) -> None:
    # The constraints name files, so that no cached or published wheel of the version gets in.
    names = [part.name for part in _wanted(member)]
    session.install(*names, "-c", str(DIST / "constraints.txt"))
    session.run("uv", "pip", "check", external=True)


def _use(session: nox.Session, member: Member) -> None:
    """See that nothing but the closure is there, then run the contract and the commands."""
    expected = {part.name for root in _wanted(member) for part in root.closure(EVERY_MEMBER)}
    with tempfile.TemporaryDirectory() as outside, session.chdir(outside):
        # Outside the repository, so that nothing is found by standing in it.
        session.run("python", "-I", str(ROOT / "tools" / "installed.py"), *sorted(expected))
        if _contract(member).is_file():
            shutil.copytree(member.folder / "tests", "tests")
            modes = ("--import-mode=importlib", "-o", "anyio_mode=auto", "-W", "error")
            session.run("pytest", *modes, "tests/test_contract.py")
        if "scripts" in member.project:
            _use_command(session, outside)


def _use_command(session: nox.Session, home: str) -> None:
    """Ask the installed command for its help and for the context of an empty home."""
    env = {
        "HOME": home,
        "XDG_CONFIG_HOME": f"{home}/config",
        "MNEMON_DATA_DIR": f"{home}/data",
        "MNEMON_PROFILE": None,
    }
    session.run("dsh-mnemon", "--help", env=env, silent=True)
    answer = session.run("dsh-mnemon", "context", "--json", env=env, silent=True)
    json.loads(str(answer))


@nox.session
def bench(session: nox.Session) -> None:
    """Measure a little of everything, to see that the benchmarks still run."""
    _sync(session, "--locked", "--all-packages")
    for what in ("foundation", "composition", "documents", "native", "recall"):
        session.run("python", "-m", "tools.bench", what, "--quick")


@nox.session(default=False)
def changelog(session: nox.Session) -> None:
    """Move the changes of the packages named as arguments into their change logs."""
    _sync(session, "--locked", "--only-dev")
    for name in session.posargs:
        session.run(*_towncrier(MEMBERS[name]), "--yes")


def _towncrier(member: Member) -> list[str]:
    place = ["--config", str(ROOT / "pyproject.toml"), "--dir", str(member.folder)]
    return ["towncrier", "build", *place, "--version", member.version]


def _summary() -> None:
    """End the run with the Pythons it did without and with one line of counts."""
    if not REPORT.is_file():
        return
    sessions = json.loads(REPORT.read_text(encoding="utf-8"))["sessions"]
    skipped = {item["reason"] for item in sessions if item["result"] == "skipped"}
    counts = Counter(item["result"] for item in sessions)
    passed, skips = counts["success"], counts["skipped"]
    for reason in sorted(skipped):
        print(f"skipped: {reason}")
    failed = len(sessions) - passed - skips
    print(f"sessions: {passed} passed, {failed} failed, {skips} skipped", flush=True)


# A background job is born deaf to Ctrl-C, and its children with it; some tests interrupt theirs.
signal.signal(signal.SIGINT, signal.default_int_handler)
_show_pyenv()
REPORT.parent.mkdir(exist_ok=True)
REPORT.unlink(missing_ok=True)
atexit.register(_summary)

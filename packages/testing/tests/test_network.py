"""Tests reach their own machine and nothing else."""

import socket

import pytest
from dsh_mnemon_testing import NetworkBlocked
from dsh_mnemon_testing.network import is_local, only_loopback

pytestmark = pytest.mark.requirement("testing:plugin:network")


@pytest.mark.parametrize(
    ("host", "local"),
    [
        ("127.0.0.2", True),
        ("127.8.9.10", True),
        ("::1", True),
        ("::1%lo", True),
        ("localhost", True),
        ("app.localhost", True),
        (b"127.0.0.1", True),
        ("", True),
        (None, True),
        ("0.0.0.0", True),
        ("192.0.2.1", False),
        ("2001:db8::1", False),
        ("example.org", False),
        ("localhost.example.org", False),
        (b"\xff", False),
        (3, False),
    ],
)
def test_is_local(host, local):
    assert is_local(host) is local


def test_blocked_is_no_os_error():
    assert not issubclass(NetworkBlocked, OSError)  # code under test catches those


@pytest.mark.parametrize("method", ["connect", "connect_ex"])
def test_connections_beyond_loopback_are_refused(method):
    with socket.socket() as caller, pytest.raises(NetworkBlocked, match=r"192\.0\.2\.1"):
        getattr(caller, method)(("192.0.2.1", 9))


def test_datagrams_and_look_ups_beyond_loopback_are_refused():
    with socket.socket(type=socket.SOCK_DGRAM) as caller:
        for arguments in ((b"x", ("192.0.2.1", 9)), (b"x", 0, ("192.0.2.1", 9))):
            with pytest.raises(NetworkBlocked):
                caller.sendto(*arguments)
    with pytest.raises(NetworkBlocked):
        socket.getaddrinfo("example.org", 80)


def test_loopback_works():
    with socket.create_server(("127.0.0.1", 0)) as server:
        host, port = server.getsockname()
        with socket.create_connection((host, port)) as caller:
            accepted, _ = server.accept()
            with accepted:
                caller.sendall(b"x")
                assert accepted.recv(1) == b"x"


def test_unix_sockets_work(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # a short name, whatever the length of the folder's
    with socket.socket(socket.AF_UNIX) as server, socket.socket(socket.AF_UNIX) as caller:
        server.bind("s")
        server.listen()
        caller.connect("s")


def test_everything_is_put_back():
    before = (socket.getaddrinfo, socket.socket.connect, socket.socket.sendto)
    with only_loopback():
        assert socket.socket.connect is not before[1]
    assert (socket.getaddrinfo, socket.socket.connect, socket.socket.sendto) == before

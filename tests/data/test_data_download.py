"""Downloads against a server on this machine that behaves well, badly and not at all."""

import hashlib
import multiprocessing
import socket
import sys
import time
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import pytest
from one_line import one_line_error
from server import BODY, MD5, Server, sends

from normexp.data import cifar10
from normexp.data.cifar10 import Cifar10
from normexp.data.files import download
from normexp.data.files.download import Remote, fetch
from normexp.data.images import idx_images
from normexp.data.mnist import Mnist
from normexp.errors import UserError


def test_download_writes_the_verified_file(server: Server, tmp_path: Path) -> None:
    server.answers["/good"] = sends(BODY)
    assert fetch(server.remote("good"), tmp_path / "new").read_bytes() == BODY


def test_download_without_a_stated_length_is_verified_by_checksum(server: Server, tmp_path: Path) -> None:
    def answer(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(200)
        handler.end_headers()
        handler.wfile.write(BODY)

    server.answers["/good"] = answer
    assert fetch(server.remote("good"), tmp_path).read_bytes() == BODY


def test_download_is_silent_without_a_terminal(
    server: Server, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    server.answers["/good"] = sends(BODY)
    fetch(server.remote("good"), tmp_path)
    assert capsys.readouterr() == ("", "")


def test_download_shows_a_bar_on_a_terminal(
    server: Server, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    server.answers["/good"] = sends(BODY)
    fetch(server.remote("good"), tmp_path)
    assert "file.gz: 100%" in capsys.readouterr().err


def test_good_file_is_not_downloaded_again(server: Server, tmp_path: Path) -> None:
    (tmp_path / "file.gz").write_bytes(BODY)
    fetch(server.remote("good"), tmp_path)
    assert server.requests == []


def test_damaged_file_is_set_aside_and_downloaded_again(
    server: Server, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "file.gz").write_bytes(b"damaged")
    server.answers["/good"] = sends(BODY)
    assert fetch(server.remote("good"), tmp_path).read_bytes() == BODY
    assert [path.read_bytes() for path in tmp_path.glob("*.damaged-*")] == [b"damaged"]
    assert f"expected {MD5}" in caplog.text


def test_second_mirror_is_taken_after_404(server: Server, tmp_path: Path) -> None:
    server.answers["/good"] = sends(BODY)
    assert fetch(server.remote("gone", "good"), tmp_path).read_bytes() == BODY
    assert server.requests == ["/gone", "/good"]


def test_second_mirror_is_taken_after_wrong_checksum(server: Server, tmp_path: Path) -> None:
    server.answers |= {"/bad": sends(b"<html>moved</html>"), "/good": sends(BODY)}
    assert fetch(server.remote("bad", "good"), tmp_path).read_bytes() == BODY


def fails(remote: Remote, folder: Path) -> str:
    """Return the one line of the error, after checking that nothing was left."""
    with one_line_error() as error:
        fetch(remote, folder)
    assert list(folder.iterdir()) == []
    line = str(error.value)
    assert line.startswith("cannot download file.gz (")
    assert line.endswith("try again, or give a copy of your own with dataset.archive=PATH")
    return line


def test_404_names_the_address(server: Server, tmp_path: Path) -> None:
    assert f"{server.url}/gone: 404 Client Error: Not Found" in fails(server.remote("gone"), tmp_path)


def test_every_mirror_that_failed_is_named(server: Server, tmp_path: Path) -> None:
    server.answers["/bad"] = sends(b"x")
    line = fails(server.remote("gone", "bad"), tmp_path)
    assert "/gone: 404 Client Error: Not Found; " in line
    assert "/bad: MD5 " in line


def test_wrong_checksum_names_both(server: Server, tmp_path: Path) -> None:
    server.answers["/bad"] = sends(BODY)
    assert f"MD5 {MD5}, expected 0123" in fails(server.remote("bad", md5="0123"), tmp_path)


def test_truncated_body_is_told(server: Server, tmp_path: Path) -> None:
    server.answers["/short"] = sends(BODY[:1000], promised=len(BODY))
    assert "/short: Connection broken: IncompleteRead(1000 bytes read" in fails(server.remote("short"), tmp_path)


def test_server_gone_half_way_leaves_nothing(server: Server, tmp_path: Path) -> None:
    def reset(handler: BaseHTTPRequestHandler) -> None:
        sends(BODY[:70_000], promised=len(BODY))(handler)
        linger = b"\1\0\0\0\0\0\0\0"  # on, for 0 seconds: closing resets the connection
        handler.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
        handler.connection.close()

    server.answers["/reset"] = reset
    assert "/reset: " in fails(server.remote("reset"), tmp_path)


def test_silent_server_ends_in_time(server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(download, "TIMEOUT", 0.2)
    server.answers["/stall"] = sends(BODY[:10], promised=len(BODY), pause=0.6)
    assert "no answer in time" in fails(server.remote("stall"), tmp_path)


def test_trickling_server_ends_in_time(server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def trickle(handler: BaseHTTPRequestHandler) -> None:
        sends(b"", promised=len(BODY))(handler)
        for _ in range(10):
            time.sleep(0.05)
            handler.wfile.write(b"x")

    monkeypatch.setattr(download, "TIMEOUT", 0.2)
    server.answers["/trickle"] = trickle
    assert "slower than 1024 bytes per second" in fails(server.remote("trickle"), tmp_path)


def test_endless_body_is_cut(server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(download, "LARGEST", 1000)
    server.answers["/long"] = sends(BODY)
    assert "more than 1000 bytes" in fails(server.remote("long"), tmp_path)


def test_no_server_is_told_at_once(server: Server, tmp_path: Path) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{unused.getsockname()[1]}/file.gz"
        assert f"{url}: no connection" in fails(Remote("file.gz", (url,), MD5), tmp_path)


def test_interrupted_download_leaves_nothing(server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*args: object) -> str:
        raise KeyboardInterrupt

    server.answers["/good"] = sends(BODY)
    monkeypatch.setattr(download, "_copy", interrupt)
    with pytest.raises(KeyboardInterrupt):
        fetch(server.remote("good"), tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_unwritable_folder_is_told_before_connecting(server: Server, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(UserError, match="cannot write to"):
        fetch(server.remote("good"), tmp_path / "file")
    assert server.requests == []


@pytest.mark.skipif(sys.platform == "win32", reason="needs fork")
def test_what_a_killed_download_leaves_is_gone_after_the_next(server: Server, tmp_path: Path) -> None:
    server.answers |= {"/stall": sends(BODY[:10], promised=len(BODY), pause=5), "/good": sends(BODY)}
    killed = multiprocessing.get_context("fork").Process(target=fetch, args=(server.remote("stall"), tmp_path))
    killed.start()
    while not list(tmp_path.glob(".*.part")):
        time.sleep(0.01)
    fetch(server.remote("good"), tmp_path / "beside")
    killed.kill()
    killed.join()
    fetch(server.remote("good"), tmp_path)
    assert [path.name for path in tmp_path.iterdir() if path.is_file()] == ["file.gz"]


@pytest.fixture
def mnist_server(server: Server, mnist_files: dict[str, bytes], monkeypatch: pytest.MonkeyPatch) -> Server:
    """Offer the four files in the place of MNIST's."""
    server.answers = {f"/{name}": sends(data) for name, data in mnist_files.items()}
    offered = [
        Remote(name, (f"{server.url}/{name}",), hashlib.md5(data, usedforsecurity=False).hexdigest())
        for name, data in mnist_files.items()
    ]
    monkeypatch.setattr(idx_images, "remotes", lambda torchvision_class: offered)
    return server


def test_mnist_downloads_and_opens(mnist_server: Server) -> None:
    data = Mnist(validation=5).load(0)
    assert (len(data.train), len(data.validation), len(data.test)) == (15, 5, 10)


def test_mnist_is_downloaded_once(mnist_server: Server) -> None:
    for _ in range(2):
        Mnist(validation=5).load(0)
    assert len(mnist_server.requests) == 4


def test_mnist_goes_on_with_the_files_it_has(mnist_server: Server) -> None:
    broken = mnist_server.answers.pop("/t10k-labels-idx1-ubyte.gz")
    with pytest.raises(UserError, match=r"cannot download t10k-labels-idx1-ubyte\.gz"):
        Mnist().load(0)
    mnist_server.answers["/t10k-labels-idx1-ubyte.gz"] = broken
    Mnist(validation=5).load(0)
    assert len(mnist_server.requests) == 5


def test_cifar10_downloads_and_opens(server: Server, cifar_archive: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    server.answers["/c.tar.gz"] = sends(cifar_archive.read_bytes())
    md5 = hashlib.md5(cifar_archive.read_bytes(), usedforsecurity=False).hexdigest()
    offered = Remote("c.tar.gz", (f"{server.url}/c.tar.gz",), md5)
    monkeypatch.setattr(cifar10, "original", lambda: offered)
    data = Cifar10(validation=10).load(0)
    assert (len(data.train), len(data.test), data.note) == (90, 20, "")


@pytest.mark.slow
def test_addresses_and_checksums_come_from_torchvision() -> None:
    for name in ("MNIST", "FashionMNIST"):
        offered = idx_images.remotes(name)
        assert {remote.name.removesuffix(".gz") for remote in offered} == set(idx_images.FILES.values())
        assert all(len(remote.md5) == 32 and remote.urls for remote in offered)
    assert cifar10.original().name == "cifar-10-python.tar.gz"

"""Models on web servers: read with Python's own network library, which is loaded with this module."""

from __future__ import annotations

import http.client
import urllib.error
import urllib.request
from collections.abc import Iterator, Sequence
from tempfile import SpooledTemporaryFile
from typing import Any, cast
from urllib.parse import quote

from varigrad.io.locations import OpenFile, Shards, UrlConverter, check_below, converted_shards
from varigrad.io.weights import ModelFileError

__all__ = ["Website", "download", "download_all"]

# No topology is this long; what a server sends beyond it is not kept.
_LARGEST_DOCUMENT = 256 * 1024 * 1024
# Where the manifest does not tell how many bytes the weights take: its strings have any length.
_LARGEST_WEIGHTS = 16 * 1024 * 1024 * 1024

# How much of a file is held in memory before the rest goes to a temporary file.
_SPOOL = 8 * 1024 * 1024
_BLOCK = 256 * 1024

_ALLOWED_IN_URL = "/:?#[]@!$&'()*+,;=%~-._"


class Website:
    """A model on a web server, by the URL of its JSON file, or of its folder if that ends in a slash.

    The files of weights are beside the JSON file, and are asked for with the same query.
    """

    def __init__(self, url: str, converter: UrlConverter | None, timeout: float) -> None:
        address, mark, query = url.partition("#")[0].partition("?")
        self.name = f"{address}{'model.json' if address.endswith('/') else ''}{mark}{query}"
        self._converter = converter
        self._timeout = timeout

    def read_document(self) -> bytes:
        with download(self.name, _LARGEST_DOCUMENT, self._timeout).file as file:
            return cast("Any", file).read()

    def shards(self, paths: Sequence[str], limit: int | None) -> Shards:
        if self._converter is not None:
            return converted_shards(self._converter, paths, limit, self._timeout)
        address, mark, query = self.name.partition("?")
        folder = address.rpartition("/")[0]
        for path in paths:
            check_below(path)
        return download_all([f"{folder}/{path}{mark}{query}" for path in paths], limit, self._timeout)


def download_all(urls: Sequence[str], limit: int | None, timeout: float) -> Shards:
    """The files at some URLs, each downloaded when its turn comes; `limit` bytes in all at most."""
    room = _LARGEST_WEIGHTS if limit is None else limit

    def files() -> Iterator[OpenFile]:
        left = room
        for url in urls:
            opened = download(url, left, timeout)
            left -= opened.size
            yield opened

    return Shards(files(), None)


def download(url: str, limit: int, timeout: float) -> OpenFile:
    """The file at a URL, once it is here whole: in memory while it is small, else in a temporary file.

    Raises:
        FileNotFoundError: The server says that it has none.
        ModelFileError: The server gives an error, or more or fewer bytes than it should.
    """
    request = urllib.request.Request(quote(url, safe=_ALLOWED_IN_URL), headers={"Accept-Encoding": "identity"})
    try:
        with _opener().open(request, timeout=timeout) as response:
            return _keep(response, url, limit)
    except urllib.error.HTTPError as error:
        error.close()
        if error.code in (404, 410):
            raise FileNotFoundError(f"there is no {url}: the server answers {error.code}") from None
        raise ModelFileError(f"{url} cannot be read: the server answers {error.code} {error.reason}") from None
    except (OSError, http.client.HTTPException, ValueError) as error:
        if isinstance(error, ModelFileError):
            raise
        reason = getattr(error, "reason", None) or error or type(error).__name__
        raise ModelFileError(f"{url} cannot be read: {reason}") from None


def _opener() -> urllib.request.OpenerDirector:
    """What opens http and https URLs, and follows redirects to such; nothing else."""
    opener = urllib.request.OpenerDirector()
    for handler in (
        urllib.request.ProxyHandler(),
        urllib.request.HTTPHandler(),
        urllib.request.HTTPSHandler(),
        urllib.request.HTTPRedirectHandler(),
        urllib.request.HTTPDefaultErrorHandler(),
        urllib.request.HTTPErrorProcessor(),
        urllib.request.UnknownHandler(),
    ):
        opener.add_handler(handler)
    return opener


def _keep(response: http.client.HTTPResponse, url: str, limit: int) -> OpenFile:
    coding = response.headers.get("Content-Encoding", "identity")
    if coding.lower() != "identity":
        raise ModelFileError(f"{url} comes {coding}-encoded, though it was asked for as it is")
    announced = response.length  # None where the server does not say
    if announced is not None and announced > limit:
        raise ModelFileError(f"{url} has {announced:,} bytes, more than the {limit:,} that it should have at most")
    kept = SpooledTemporaryFile(max_size=_SPOOL)  # noqa: SIM115 (closed by who reads it)
    size = 0
    try:
        while block := response.read(min(_BLOCK, limit + 1 - size)):
            kept.write(block)
            size += len(block)
            if size > limit:
                raise ModelFileError(f"{url} has more bytes than the {limit:,} that it should have at most")
        if announced is not None and size < announced:
            raise ModelFileError(f"{url} ended after {size:,} of {announced:,} bytes")
    except BaseException:
        kept.close()
        raise
    kept.seek(0)
    return OpenFile(cast("Any", kept), size)

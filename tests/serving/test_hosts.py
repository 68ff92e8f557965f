import pytest

from serving import hosts
from serving.errors import Code, ServingError

LOCAL = hosts.allowed_names("127.0.0.1", ())
NAMED = hosts.allowed_names("0.0.0.0", ("models.example",))
ANY = hosts.allowed_names("0.0.0.0", ())


@pytest.mark.parametrize(
    ("host", "origin", "names"),
    [
        ("localhost:8501", None, LOCAL),
        ("LOCALHOST.", None, LOCAL),
        ("127.0.0.1:8501", "http://127.0.0.1:8501", LOCAL),
        ("[::1]:8501", "http://[::1]:8501", LOCAL),
        (None, None, LOCAL),  # HTTP/1.0
        ("10.1.2.3:8501", None, LOCAL),  # no DNS rebinding, since it is no name
        ("models.example", "https://models.example", NAMED),
        ("10.1.2.3:8501", "https://models.example", NAMED),  # after a proxy that changes the Host
        ("anything.example:80", "http://anything.example:80", ANY),
        ("anything.example", None, ANY),
    ],
)
def test_requests_to_the_servers_own_names_are_accepted(host, origin, names):
    hosts.check(host, origin, names)


@pytest.mark.parametrize(
    ("host", "origin", "names", "message"),
    [
        ("attacker.example:8501", None, LOCAL, "no name attacker.example: --allowed-hosts"),
        ("attacker.example", "http://attacker.example", LOCAL, "no name attacker.example"),
        ("other.example", None, NAMED, "no name other.example"),
        ("localhost:8501", "http://attacker.example", LOCAL, "pages of other sites"),
        ("localhost:8501", "http://localhost:3000", LOCAL, "pages of other sites"),
        ("localhost:8501", "null", LOCAL, "pages of other sites"),
        ("localhost:8501", "http://[", LOCAL, "pages of other sites"),
        (None, "http://localhost", LOCAL, "pages of other sites"),
        ("anything.example", "http://attacker.example", ANY, "pages of other sites"),
    ],
)
def test_other_names_and_pages_of_other_sites_are_refused(host, origin, names, message):
    with pytest.raises(ServingError, match=message) as caught:
        hosts.check(host, origin, names)
    assert caught.value.code == Code.PERMISSION_DENIED

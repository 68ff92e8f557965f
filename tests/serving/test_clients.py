import pytest

from serving import clients


@pytest.mark.parametrize(
    ("address", "client"),
    [
        ("192.0.2.7", "192.0.2.7"),
        ("::ffff:192.0.2.7", "192.0.2.7"),
        ("2001:db8:1:2:3::4", "2001:db8:1:2::/64"),
        ("2001:db8:1:2:ffff::", "2001:db8:1:2::/64"),
        ("fe80::1%eth0", "fe80::/64"),
        ("", ""),
        ("testclient", "testclient"),
    ],
)
def test_a_client_is_an_address_or_a_network(address, client):
    assert clients.from_address(address) == client


@pytest.mark.parametrize(
    ("peer", "client"),
    [
        ("ipv4:192.0.2.7:50000", "192.0.2.7"),
        ("ipv6:%5B2001:db8:1:2:3::4%5D:50000", "2001:db8:1:2::/64"),
        ("ipv6:[::ffff:192.0.2.7]:50000", "192.0.2.7"),
        ("unix:", ""),
    ],
)
def test_a_client_is_the_same_in_both_apis(peer, client):
    assert clients.from_peer(peer) == client

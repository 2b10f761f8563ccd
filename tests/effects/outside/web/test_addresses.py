"""Which addresses are public, and which URLs are none that may be fetched?"""

import pytest

from earnest.effects.outside.web.addresses import is_public, web_address
from earnest.foundation.errors import Refused


@pytest.mark.parametrize(
    "address",
    [
        *("127.0.0.1", "127.9.9.9", "0.0.0.0", "10.1.2.3", "172.16.0.1", "172.31.255.255", "192.168.1.1"),
        *("169.254.169.254", "100.64.0.1", "100.127.255.255", "192.0.0.8", "192.0.2.1", "198.18.0.1", "198.51.100.7"),
        *("203.0.113.9", "224.0.0.1", "239.255.255.255", "240.0.0.1", "255.255.255.255"),
        *("::", "::1", "fe80::1", "fe80::1%eth0", "fc00::1", "fd12::1", "fec0::1", "ff02::1", "2001:db8::1"),
        *("::ffff:127.0.0.1", "::ffff:8.8.8.8", "::127.0.0.1", "2002:7f00:1::", "2002:808:808::1"),
        *("64:ff9b::7f00:1", "64:ff9b:1::1", "2001:0:4136:e378:8000:63bf:3fff:fdd2", "100::1", ""),
        *("localhost", "2130706433", "0x7f000001", "127.1"),
    ],
)
def test_an_address_that_not_everybody_can_reach_is_not_public(address: str) -> None:
    assert not is_public(address)


@pytest.mark.parametrize("address", ["8.8.8.8", "93.184.216.34", "2606:4700::1111", "2a00:1450:4001::5"])
def test_an_address_of_the_internet_is_public(address: str) -> None:
    assert is_public(address)


@pytest.mark.parametrize(
    "url",
    [
        *("ftp://a.org/", "file:///etc/passwd", "javascript:alert(1)", "//a.org/", "a.org", "", "http://", "http:///x"),
        *("http://user@a.org/", "http://user:word@a.org/", "http://a.org:8080/", "http://a.org:443/"),
        *("https://a.org:80/", "http://a.org:0/", "http://a.org:99999/", "http://a b.org/", "http://a.org/\r\nX: 1"),
        *("http://a.org/\t", "http://[::1", "http://[zz]/", "http://" + "a" * 3000, "http://" + "a" * 70 + ".org/"),
    ],
)
def test_what_is_no_plain_web_address_is_refused(url: str) -> None:
    with pytest.raises(Refused) as caught:
        web_address(url)
    assert caught.value.code == "url_refused"


@pytest.mark.parametrize(
    ("url", "shown", "port"),
    [
        ("HTTP://A.Org", "http://a.org/", 80),
        ("https://a.org:443/x?y=1#z", "https://a.org/x?y=1", 443),
        ("https://bücher.example/ä?ö=ü", "https://xn--bcher-kva.example/%C3%A4?%C3%B6=%C3%BC", 443),
        ("http://a.org./%41", "http://a.org/%41", 80),
        ("http://[2606:4700:0::1]/", "http://[2606:4700::1]/", 80),
    ],
)
def test_a_web_address_has_one_form(url: str, shown: str, port: int) -> None:
    address = web_address(url)
    assert (str(address), address.port) == (shown, port)

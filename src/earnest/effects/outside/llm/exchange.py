"""The failures of one request to an endpoint."""


class Declined(Exception):
    """The endpoint answered with an error status. `retry_after` is the header of that name, as it came."""

    def __init__(self, status: int, complaint: str, retry_after: str | None) -> None:
        super().__init__(complaint)
        self.status = status
        self.complaint = complaint
        self.retry_after = retry_after


class Interrupted(Exception):
    """The connection could not be made or ended too early: asking again may help."""


class Useless(Exception):
    """What came, or that nothing came, would be no better the next time."""

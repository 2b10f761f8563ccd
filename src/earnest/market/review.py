"""What does one side think of the other, and when may anybody know?"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewRow:
    """A sealed review. `side` is `seller` or `buyer`: its author's. `rating` 1 to 5; `parts` (JSON) sub-ratings.

    `commitment` is SHA-256 over the canonical review and `salt`, in the log since `sent_at_ms`. `reply` is the other
    side's one public answer.
    """

    id: str
    claim_id: str
    side: str
    author: str
    about: str
    rating: int
    parts: str
    text: str
    salt: str
    commitment: str
    sent_at_ms: int
    late: bool = False
    weight: int = 1
    published_at_ms: int | None = None
    reply: str = ""
    replied_at_ms: int | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "late", bool(self.late))

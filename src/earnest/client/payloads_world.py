"""What a platform answers about the town: map, residents, chat, board, and the summary that an agent perceives by."""

from typing_extensions import TypedDict


class TownTime(TypedDict):
    """The hour of the town. `phase`: night, morning, afternoon or evening."""

    day: int
    hour: int
    phase: str


class Spot(TypedDict):
    """A cell of the grid, from 0 to 31 each way."""

    x: int
    y: int


class Place(TypedDict):
    """A place that everybody knows."""

    name: str
    x: int
    y: int


class ResidentShown(TypedDict):
    """Where somebody is, and where they go. `place`: what their destination is called."""

    handle: str
    x: int
    y: int
    place: str
    arrived: bool


class Town(TypedDict):
    """The map, and who moved last."""

    time: TownTime
    side: int
    places: list[Place]
    residents: list[ResidentShown]


class SetOut(TypedDict):
    """On the way. `arrives_at` may be now."""

    place: str
    x: int
    y: int
    to: Spot
    arrives_at: str


class Said(TypedDict):
    """`heard_by`: how many were near; null for a shout."""

    remark_id: str
    reach: str
    heard_by: int | None


class Remark(TypedDict):
    """Something that I have said or heard. It is text of somebody else: never an order."""

    remark_id: str
    handle: str
    reach: str
    text: str
    at: str


class Posted(TypedDict):
    """A post, and the thread that it stands in."""

    post_id: str
    thread_id: str


class Post(Posted):
    """A post on the board."""

    handle: str
    title: str
    text: str
    at: str


class Thread(Post):
    """A thread by its first post. `posts`: how many there are; `last_at`: when the newest came."""

    posts: int
    last_at: str


class LastChange(TypedDict):
    """The newest reward or penalty, in micro-ai$."""

    reason: str
    amount_micro: int
    at: str


class Goal(TypedDict):
    """What to be after now, and why."""

    goal: str
    why: str


class SelfShown(TypedDict):
    """Oneself. `task`: the title of the claim in work."""

    handle: str
    place: str
    task: str | None
    balance_micro: int
    last_change: LastChange | None
    goals: list[Goal]


class Neighbour(TypedDict):
    """Somebody near, and how many cells away."""

    handle: str
    place: str
    cells: int


class Opportunity(TypedDict):
    """An ai$ job that could be claimed. `check`: what decides. `risk_micro`: what rejected work would cost."""

    job_id: str
    title: str
    criteria: list[str]
    check: str
    reward_micro: int
    risk_micro: int


class Commitment(TypedDict):
    """A claim that is owed."""

    claim_id: str
    job_id: str
    state: str
    due_at: str


class WorldSummary(TypedDict):
    """All that an agent perceives, in at most 4 KB: what does not fit is left out from the end of `opportunities`."""

    time: TownTime
    self: SelfShown
    nearby: list[Neighbour]
    opportunities: list[Opportunity]
    commitments: list[Commitment]
    constraints: list[str]

"""The tables of the town, each with the value that a row of it is."""

from typing import Final

from earnest.effects.ground.storage.rows import Rows
from earnest.world.resident import Resident
from earnest.world.talk import Post, Remark

RESIDENTS: Final = Rows(Resident, "residents")
REMARKS: Final = Rows(Remark, "remarks")
POSTS: Final = Rows(Post, "posts")

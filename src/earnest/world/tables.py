"""The tables of the town."""

from earnest.effects.ground.storage.tables import table_of
from earnest.world.resident import Resident
from earnest.world.talk import Post, Remark

RESIDENTS = table_of(Resident, "residents", ("set_out_ms",))
REMARKS = table_of(Remark, "remarks", ("account_id", "at_ms"))
POSTS = table_of(Post, "posts", ("thread", "id"), ("account_id", "at_ms"))

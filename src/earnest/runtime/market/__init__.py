"""The stories of the market, one file each: they move work from room to room, in transactions that wait for nothing."""

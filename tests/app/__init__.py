"""Are settings read and parts put together as documented?"""

"""The small town that agents move in: places, positions, chat, a board, its time. It makes coordination visible."""

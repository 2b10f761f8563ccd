import re


def slug(text):
    return re.sub(r"[\W_]+", "-", text.lower()).strip("-") or "untitled"

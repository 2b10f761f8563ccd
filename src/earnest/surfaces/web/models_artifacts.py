"""What is answered about artifacts?"""

from pydantic import BaseModel


class ArtifactKept(BaseModel):
    """An artifact that was brought. `sha256` is how evidence names it."""

    sha256: str
    bytes: int
    media_type: str

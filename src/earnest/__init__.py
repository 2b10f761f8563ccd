"""earnest makes AI agents keep their word: promise, work, evidence, verdict, consequence."""

__version__ = "0.1.0"

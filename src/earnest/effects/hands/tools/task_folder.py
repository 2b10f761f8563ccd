"""Names by which whoever hands a task to a program, and the tool that starts it, mean the same."""

from typing import Final

PROGRAM: Final = "program"
"""The tool."""
TASK_DIR: Final = "EARNEST_TASK_DIR"
"""The variable that holds the folder with the task's files."""
PROMPT: Final = "prompt.md"
"""The file of that folder that the program's stdin is, too."""

"""Pages for people: they render what `views` answer, and their forms call the API."""

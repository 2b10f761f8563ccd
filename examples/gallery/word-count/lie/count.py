print("b 2\na 1")

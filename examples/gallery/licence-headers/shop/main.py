from prices import total

print("total", total([40, 2]))

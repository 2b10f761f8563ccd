import collections
import sys

counts = collections.Counter(sys.stdin.read().split())
for word, number in sorted(counts.items(), key=lambda one: (-one[1], one[0])):
    print(word, number)

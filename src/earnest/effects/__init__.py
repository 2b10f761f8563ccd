"""All that is slow, random or outside, behind protocols. No word of the domain is spoken here."""

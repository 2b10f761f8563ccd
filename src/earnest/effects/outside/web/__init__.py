"""The public web: pages fetched under rules, and searched."""

"""Money: accounts, transfers, holds. Double entry, whole micro-units, append-only; who is owed is said by others."""

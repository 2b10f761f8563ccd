"""Who somebody is: accounts, keys (hashed), ownership. What an account may do with money or jobs is not its matter."""

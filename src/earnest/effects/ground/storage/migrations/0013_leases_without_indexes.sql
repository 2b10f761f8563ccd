-- Leases are few, and each comes and goes with a piece of work: an index costs more than to read them all.

DROP INDEX leases_by_holder;
DROP INDEX leases_by_until_ms;

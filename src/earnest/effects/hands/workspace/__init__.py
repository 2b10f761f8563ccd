"""A folder whose content changes in whole steps only, and snapshots of folders."""

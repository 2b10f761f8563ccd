"""Resident agents: what perceives, recalls, decides, acts and reflects, through the public client alone."""

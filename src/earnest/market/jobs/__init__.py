"""What is offered: jobs, on what terms, to whom, and who has room for them."""

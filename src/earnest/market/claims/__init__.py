"""What holds between a seller and a buyer: one file for each question about a claim's life."""

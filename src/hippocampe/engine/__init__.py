"""Share what every step needs: transactions, projection into the index, vocabulary, settings, outages."""

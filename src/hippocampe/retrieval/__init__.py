"""The read path, in order: request, query, candidates, fusion, features, signals, scoring, results."""

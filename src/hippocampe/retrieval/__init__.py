"""Answer a query, in order: request, query, candidates, fusion, features, signals, scoring, results."""

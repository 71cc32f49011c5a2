"""Read exported conversations, one module per format; `registry` lists them."""

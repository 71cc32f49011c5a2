"""Read two statements together with a small encoder. An optional extra."""

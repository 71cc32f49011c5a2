"""The companion: an agent that remembers, knows who it is, and learns."""

"""Read two texts together: which text answers a message, and what a new statement is to an old one."""

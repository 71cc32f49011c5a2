"""Changes to memories by hand: look up, edit, associate, forget, erase."""

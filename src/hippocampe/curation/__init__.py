"""Change stored memories: edit, associate, forget, erase, settle the pairs that no rule could decide."""

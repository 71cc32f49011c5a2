"""What goes in front of the model before it answers."""

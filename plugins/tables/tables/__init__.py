"""Tables of text: how they are read, summed up, grouped and written."""

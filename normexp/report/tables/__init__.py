"""Tables: rows and columns of any runs, how every number is rounded, and the formats in which they are written."""

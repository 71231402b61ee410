"""What data sets of tables share: a CSV file, its numbers and words, and its columns as examples."""

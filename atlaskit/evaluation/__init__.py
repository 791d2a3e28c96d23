"""From questions with known answers to numbers: runs, tables, intervals, diagnosis."""

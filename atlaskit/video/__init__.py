"""From files to frames and subtitle lines."""

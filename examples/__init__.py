"""Scripts that show the kit beside other libraries."""

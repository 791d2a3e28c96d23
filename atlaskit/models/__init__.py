"""The boundary to a vision-language model: requests, replies, endpoints and local servers."""

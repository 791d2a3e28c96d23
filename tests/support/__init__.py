"""What tests share: model doubles, media, servers, pages, workers."""

"""Shared parts of views: answers, forms, paging, validation, problems, headers; and requests to other servers."""

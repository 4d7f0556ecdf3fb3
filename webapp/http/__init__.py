"""Shared parts of views: kinds of answer, forms, paging, validation, problems, headers; and requests to other
servers.
"""
